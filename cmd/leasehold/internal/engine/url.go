// Package engine opens the engine that a URL names.
package engine

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// URL is an engine URL, taken apart: scheme:location?parameters.
type URL struct {
	Scheme string
	// Location is what stands between the scheme and the parameters, as typed.
	Location string
	// Params has one value for each parameter.
	Params map[string]string
}

// URLError says what is wrong with an engine URL. It never holds user
// names, passwords or the values of parameters.
type URLError struct {
	// Part is what is wrong, as in "scheme".
	Part string
	// Value is what was given, if it may be shown.
	Value string
	// Allowed says what may be given.
	Allowed string
}

// Error implements error.
func (e *URLError) Error() string {
	s := "engine URL: " + e.Part
	if e.Value != "" {
		s += fmt.Sprintf(" %q", e.Value)
	}
	return s + " is not allowed: it must be " + e.Allowed
}

var scheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// parse takes raw apart and checks it against the schemes that there are.
func parse(raw string, known []opener) (URL, opener, error) {
	name, rest, found := strings.Cut(raw, ":")
	userInfo := strings.Contains(rest, "@") && !strings.HasPrefix(rest, "//")
	at := slices.IndexFunc(known, func(o opener) bool { return o.scheme == name })
	switch {
	case !found, at < 0 && (userInfo || !scheme.MatchString(name)):
		// What looks like a scheme may be the user name of "user:password@host".
		if found {
			raw = ""
		}
		return URL{}, opener{}, &URLError{Part: "a value without a scheme", Value: public(raw), Allowed: forms(known)}
	case at < 0:
		return URL{}, opener{}, &URLError{Part: "scheme", Value: name, Allowed: forms(known)}
	}
	o := known[at]
	location, query, _ := strings.Cut(rest, "?")
	params, err := parameters(query, o)
	if err != nil {
		return URL{}, opener{}, err
	}
	return URL{Scheme: name, Location: location, Params: params}, o, nil
}

func parameters(query string, o opener) (map[string]string, error) {
	allowed := "one of " + strings.Join(o.params, ", ")
	if len(o.params) == 0 {
		allowed = "left out: " + o.scheme + ": has no parameters"
	}
	// The parser's own error quotes what it could not read, which may be a secret.
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, &URLError{Part: "what follows the question mark", Allowed: "name=value pairs joined by &"}
	}
	params := make(map[string]string, len(values))
	for name, v := range values {
		if !slices.Contains(o.params, name) {
			return nil, &URLError{Part: "parameter", Value: name, Allowed: allowed}
		}
		if len(v) > 1 {
			return nil, &URLError{Part: "parameter", Value: name, Allowed: "given once"}
		}
		params[name] = v[0]
	}
	return params, nil
}

// public returns the text if no password can be part of it.
func public(text string) string {
	if strings.Contains(text, "@") {
		return ""
	}
	return text
}

// forms lists what may be given, for messages.
func forms(known []opener) string {
	list := make([]string, len(known))
	for i, o := range known {
		list[i] = o.form
	}
	return strings.Join(list, " or ")
}
