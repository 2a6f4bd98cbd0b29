package redis

import "fmt"

// URLError says what is wrong with the URL given to [Open]. Nothing of user names, passwords, hosts and
// the values of parameters is ever part of it, also where the URL is so broken that a password
// stands where something else belongs.
type URLError struct {
	// Part is what is wrong, as in "scheme" or "parameter".
	Part string
	// Value is the name of the scheme or of the parameter, if Part is one of them and the name may be shown.
	Value string
	// Allowed says what may be given.
	Allowed string
}

// Error implements error.
func (e *URLError) Error() string {
	s := "redis engine: URL: " + e.Part
	if e.Value != "" {
		s += fmt.Sprintf(" %q", e.Value)
	}
	return s + " is not allowed: it must be " + e.Allowed
}
