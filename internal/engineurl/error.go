// Package engineurl parses the URLs of all engines: scheme, user and password, the addresses of
// servers, parameters, and certificate files. An engine describes its URLs with a [Syntax].
//
// An [Error] never contains any part of the input, except names of parameters and schemes that
// cannot be anything else: if an @ is missing, a password may appear in another position.
package engineurl

import (
	"fmt"
	"strings"
)

// Error says which part of a URL is not allowed. It never contains user names, passwords, hosts or
// values of parameters, even if the URL is so broken that a password stands in place of something
// else.
type Error struct {
	// Part is what is wrong, such as "scheme" or "parameter".
	Part string
	// Value is the name of the scheme or of the parameter, if Part is one of them and the name may
	// be shown.
	Value string
	// Allowed says what must stand there instead.
	Allowed string
	// Engine is the name of the engine, such as "redis", if the URL is that of one.
	Engine string
}

// Error implements error.
func (e *Error) Error() string {
	s := "engine URL: "
	if e.Engine != "" {
		s = e.Engine + " engine: URL: "
	}
	if e.Part == partParameter && e.isAboutValue() {
		s += "the value of "
	}
	s += e.Part
	if e.Value != "" {
		s += fmt.Sprintf(" %q", e.Value)
	}
	return s + " is not allowed: it must be " + e.Allowed
}

// partParameter is the Part of an error about a parameter.
const partParameter = "parameter"

// isAboutValue reports whether another value of the parameter would be allowed.
func (e *Error) isAboutValue() bool {
	return !strings.HasPrefix(e.Allowed, oneOf) && !strings.HasPrefix(e.Allowed, "left out") &&
		e.Allowed != "given once"
}
