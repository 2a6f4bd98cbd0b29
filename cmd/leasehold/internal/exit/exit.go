// Package exit holds the exit codes of the command, and the error that carries
// one.
package exit

import "fmt"

// The exit codes. Those from 64 on are of sysexits(3); 126 and 127 are those of a shell.
const (
	OK = 0
	// No is the answer of a question ("check") and of a request that found nothing
	// to do.
	No = 1
	// Warned and Alarmed are what doctor says of its findings: the worst is a warning, or critical.
	Warned  = 1
	Alarmed = 2
	// Usage: the command line, the environment or the config file is wrong.
	Usage = 64
	// Unavailable: the engine cannot be reached or used. Nothing is held.
	Unavailable = 69
	// Lost: the lease ended before the child did.
	Lost = 70
	// Held: somebody else holds the name, or it was not granted in time.
	Held = 75
	// CannotRun: the program was found but cannot be run.
	CannotRun = 126
	// NotFound: there is no such program.
	NotFound = 127
)

// Signal returns the code of a program that was ended by signal number n.
func Signal(n int) int { return 128 + n }

// Error ends the command with a code.
type Error struct {
	Code int
	// Err is said on standard error. Nil says nothing.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a text made as by fmt.Errorf.
func Errorf(code int, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Silent returns an Error that says nothing, or nil for code 0.
func Silent(code int) error {
	if code == OK {
		return nil
	}
	return &Error{Code: code}
}
