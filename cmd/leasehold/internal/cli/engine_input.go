//go:build unix

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// maxURLBytes is the largest size of an engine URL that is read from standard input.
const maxURLBytes = 64 << 10

// engineURL returns the URL of the engine to use, and where it is set. It may be in a file (@PATH), or on the first
// line of standard input (-), where it does not show up in process lists.
func (a *app) engineURL() (url string, at config.Source, err error) {
	given := a.root.PersistentFlags().Changed("engine")
	at = config.Source{Name: "--engine"}
	switch {
	case a.inputURL != "":
		return a.inputURL, at, nil // standard input was read already
	case given && a.engine == "-":
		url, err := firstLine(a.in)
		if err != nil || url == "" {
			return "", at, exit.Errorf(exit.Usage,
				"--engine - reads the URL of the engine from standard input, and there was no line of at most 64 KiB")
		}
		a.inputURL = url
		return url, at, nil
	}
	set, err := config.Engine(a.engine, given, os.LookupEnv)
	if err != nil {
		return "", at, configError(err)
	}
	if path, file := strings.CutPrefix(set.Text, "@"); file {
		if url, err = engineurl.SecretFile(path); err != nil {
			return "", at, wrongSetting(set.Source,
				"the file that has the URL of the engine, behind the @, cannot be used: %w", err)
		}
		return url, set.Source, nil
	}
	return set.Text, set.Source, nil
}

// configError gives an error of package config its exit code.
func configError(err error) error {
	if _, wrong := errors.AsType[*config.Error](err); wrong {
		return &exit.Error{Code: exit.Config, Err: err}
	}
	return &exit.Error{Code: exit.Usage, Err: err}
}

// wrongSetting returns an error about what is set at a place. If that is a config file, the error names it.
func wrongSetting(at config.Source, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if !at.IsFile() {
		return &exit.Error{Code: exit.Usage, Err: err}
	}
	return &exit.Error{Code: exit.Config, Err: &config.Error{File: at.Name, Line: at.Line, Text: err.Error(), Err: err}}
}

// firstLine reads one line and not a byte more: the rest belongs to CMD.
func firstLine(in io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) < maxURLBytes; {
		switch n, err := in.Read(one); {
		case n == 1 && one[0] == '\n', err == io.EOF:
			return strings.TrimSuffix(string(line), "\r"), nil
		case n == 1:
			line = append(line, one[0])
		case err != nil:
			return "", err
		}
	}
	return "", io.ErrShortBuffer
}
