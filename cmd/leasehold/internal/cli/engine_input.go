//go:build unix

package cli

import (
	"io"
	"strings"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// maxURLBytes is the largest size of an engine URL that is read from standard input.
const maxURLBytes = 64 << 10

// engineURL returns the URL of the engine to use. It may be in a file (@PATH), or on the first line of standard input
// (-), where it does not show up in process lists.
func (a *app) engineURL(getenv func(string) string) (string, error) {
	given := a.root.PersistentFlags().Changed("engine")
	switch {
	case a.inputURL != "":
		return a.inputURL, nil // standard input was read already
	case given && a.engine == "-":
		url, err := firstLine(a.in)
		if err != nil || url == "" {
			return "", exit.Errorf(exit.Usage,
				"--engine - reads the URL of the engine from standard input, and there was no line of at most 64 KiB")
		}
		a.inputURL = url
		return url, nil
	}
	url, err := config.Engine(a.engine, given, getenv)
	if path, file := strings.CutPrefix(url, "@"); err == nil && file {
		if url, err = engineurl.SecretFile(path); err != nil {
			return "", exit.Errorf(exit.Usage,
				"the file that has the URL of the engine, behind the @, cannot be used: %w", err)
		}
	}
	if err != nil {
		return "", &exit.Error{Code: exit.Usage, Err: err}
	}
	return url, nil
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
