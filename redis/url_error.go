package redis

import "fmt"

// URLError says what is wrong with a URL given to [Open]. It never contains user names, passwords, hosts or values of
// parameters, even if the URL is so broken that a password is in the place of something else.
type URLError struct {
	// Part is what is wrong, such as "scheme" or "parameter".
	Part string
	// Value is the name of the scheme or of the parameter, if Part is one of these and the name may be shown.
	Value string
	// Allowed says what is valid.
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
