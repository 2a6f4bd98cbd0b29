// Package exit defines the exit codes of the command, and the error that carries one.
package exit

import "fmt"

// The exit codes. Those from 64 to 78 are taken from sysexits(3), 126 and 127 from shells.
const (
	OK = 0
	// No is the negative answer of a command that asks ("check"), or means that there was nothing to do.
	No = 1
	// Warned and Alarmed are for doctor: the worst finding is a warning, or critical.
	Warned  = 1
	Alarmed = 2
	// Usage means that the command line or the environment is wrong.
	Usage = 64
	// Unavailable means that nobody knows whether the name is held: the engine cannot be reached or used, or grants
	// nothing to anybody for a while.
	Unavailable = 69
	// Lost means that the lease ended before the program did.
	Lost = 70
	// Output means that standard output cannot be written.
	Output = 74
	// Held means that somebody else holds the name, or that it was not granted in time.
	Held = 75
	// Config means that a config file is wrong.
	Config = 78
	// CannotRun means that the program was found but cannot be run.
	CannotRun = 126
	// NotFound means that there is no such program.
	NotFound = 127
)

// Signal returns the exit code of a program that signal n has ended.
func Signal(n int) int { return 128 + n }

// Error ends the command with an exit code.
type Error struct {
	Code int
	// Err is printed to standard error. If it is nil, nothing is printed.
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

// Errorf returns an Error with a formatted text, as by fmt.Errorf.
func Errorf(code int, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Silent returns an Error that prints nothing, or nil for code 0.
func Silent(code int) error {
	if code == OK {
		return nil
	}
	return &Error{Code: code}
}
