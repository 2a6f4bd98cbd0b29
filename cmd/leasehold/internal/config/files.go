//go:build unix

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/leasehold-go/leasehold/internal/ownpath"
)

// Files are the config files.
type Files struct {
	// Unreadable says that this user may not read the file of the system; nil if he may, or there is none. Others may
	// know of an engine then that this user must not replace by accident.
	Unreadable error

	read []file // the one that counts first at the beginning
}

// Read reads the config file of the user and that of the system. A file that is not there is no error.
func Read(lookup Lookup) (Files, error) {
	var all Files
	// Without a home folder there is no file of the user, which is not an error by itself.
	if path, err := userFile(lookup); err == nil {
		f, err := readFile(path, false)
		if err != nil {
			return all, err
		}
		all.read = append(all.read, f)
	}
	f, err := readFile(SystemFile, true)
	if errors.Is(err, fs.ErrPermission) {
		all.Unreadable = &Error{File: SystemFile, Err: err,
			Text: "this user may not read it, and so does not know the engine of this machine: say --engine or " +
				EngineVariable + "; or let root make the file readable for all, with engine = \"@FILE\" and the " +
				"URL in a FILE of its own if it has a password"}
		return all, nil
	}
	if err != nil {
		return all, err
	}
	all.read = append(all.read, f)
	return all, nil
}

// Values returns what the files say of a setting, in the order in which they count.
func (f Files) Values(key string) (all []Value) {
	for _, each := range f.read {
		if v, set := each[key]; set {
			all = append(all, v)
		}
	}
	return all
}

// maxFileSize is the largest size of a config file in bytes.
const maxFileSize = 1 << 20

// readText returns the content of a file, or nil if there is none.
func readText(path string, system bool) ([]byte, error) {
	// Without the system's file nothing is obeyed, so it does not matter who may write the folders: in some containers
	// that is not root.
	if _, err := os.Lstat(path); system && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := checkWriters(path, system); err != nil {
		return nil, err
	}
	// Without O_NONBLOCK, opening a named pipe would wait for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case !info.Mode().IsRegular():
		return nil, &Error{File: path,
			Text: "is no regular file: put " + example + " into a file there, or remove it"}
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case len(text) > maxFileSize:
		return nil, &Error{File: path, Text: "is larger than 1 MiB: it must be " + example}
	}
	return text, nil
}

// checkWriters returns an error if others could change the file: they could change where locks are kept.
func checkWriters(path string, system bool) error {
	check := func() error { return ownpath.Check(path, false) }
	if system {
		check = func() error { return ownpath.CheckOwnedBy(path, SystemOwner) }
	}
	err := check()
	fault, is := errors.AsType[*ownpath.Fault](err)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return nil
	case !is:
		return unreadable(path, err)
	}
	fix := fault.Fix() + ", or remove the file"
	if system {
		fix = "it and its folders must belong to root, and nobody else may write them"
	}
	return &Error{File: path,
		Text: fmt.Sprintf("is not obeyed: %s, who could change where locks are kept: %s", fault, fix)}
}

func unreadable(path string, err error) error {
	text := err.Error()
	if why := errors.Unwrap(err); why != nil {
		text = why.Error() // without the path, which the message has already
	}
	return &Error{File: path, Text: "cannot be read: " + text, Err: err}
}
