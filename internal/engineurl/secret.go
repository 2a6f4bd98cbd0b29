package engineurl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/leasehold-go/leasehold/internal/ownpath"
)

// longestSecret is the largest size of a password file in bytes.
const longestSecret = 64 << 10

// Secret returns the value of an environment variable, or else the single line in the file that the
// variable of the same name with the suffix _FILE names. The error contains the name of the
// variable. See [SecretFile].
func Secret(getenv func(string) string, variable string) (string, error) {
	if value := getenv(variable); value != "" {
		return value, nil
	}
	variable += "_FILE"
	path := getenv(variable)
	if path == "" {
		return "", nil
	}
	secret, err := SecretFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", variable, err)
	}
	return secret, nil
}

// SecretFile returns the single line of a file or a pipe, without its line end. It rejects a file
// that users other than this one and root could write or replace. It does not check a file that
// this process has open, such as /dev/fd/3: whoever started the process opened it.
//
// The error quotes a path only if a file exists there: the text may be a password given by mistake.
func SecretFile(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := checkToRead(path); err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", unreadable(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestSecret+1))
	if err != nil {
		return "", unreadable(err)
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if len(text) > longestSecret || line == "" || strings.ContainsAny(line, "\n\r\x00") {
		return "", fmt.Errorf("%s must have one line, of at most 64 KiB", path)
	}
	return line, nil
}

// CheckFile rejects a file that users other than this one and root could write or replace, such as
// one with the authorities to trust. Like [SecretFile], it accepts a file that this process has
// open. It leaves it to whoever reads the file to report that it cannot be read.
func CheckFile(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	err = checkToRead(path)
	if _, is := errors.AsType[*ownpath.Fault](err); is {
		return err
	}
	return nil
}

// checkToRead rejects a file that cannot be read, or that others could write or replace.
func checkToRead(path string) error {
	if isOpen(path) {
		return nil
	}
	err := ownpath.CheckToRead(path)
	if fault, is := errors.AsType[*ownpath.Fault](err); is {
		return fmt.Errorf("%w, who could change what it says: %s, or hand it over on standard input or as an "+
			"open file, as in /dev/fd/3", fault, fault.Fix())
	}
	if err != nil {
		return unreadable(err)
	}
	return nil
}

// isOpen reports whether a path names a file that this process has open.
func isOpen(path string) bool {
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// unreadable returns why a file cannot be read, without its path.
func unreadable(err error) error {
	why := err
	if of, is := errors.AsType[*fs.PathError](err); is {
		why = of.Err
	} else if errors.Is(err, fs.ErrNotExist) {
		why = fs.ErrNotExist
	}
	return fmt.Errorf("the file cannot be read: %w (its path is not shown, since it could be a password)", why)
}
