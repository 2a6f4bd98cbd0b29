//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// withExitCode gives an error of the library its exit code.
func withExitCode(err error) error {
	if err == nil {
		return nil
	}
	if coded, ok := errors.AsType[*exit.Error](err); ok {
		return coded
	}
	if file, ok := errors.AsType[*fs.PathError](err); ok && file.Path == os.Stdout.Name() {
		return exit.Errorf(exit.Output, "standard output cannot be written: %w", file.Err)
	}
	code := exit.Unavailable
	switch {
	case errors.Is(err, leasehold.ErrInvalid), errors.Is(err, leasehold.ErrUnsupported):
		code = exit.Usage
	case errors.Is(err, leasehold.ErrHeld), errors.Is(err, leasehold.ErrTimeout),
		errors.Is(err, leasehold.ErrTooManyWaiters):
		code = exit.Held
	case errors.Is(err, leasehold.ErrLost), errors.Is(err, leasehold.ErrMaxHold):
		code = exit.Lost
	}
	return &exit.Error{Code: code, Err: err}
}
