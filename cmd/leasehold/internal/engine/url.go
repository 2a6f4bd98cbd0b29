// Package engine opens the engine that a URL names.
package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// URLError says what is wrong with an engine URL. It never contains user names, passwords or values of parameters.
type URLError struct {
	// Part is the invalid part, as in "scheme".
	Part string
	// Value is the invalid value, if it may be shown.
	Value string
	// Allowed says what is valid.
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

// findOpener returns the opener of the URL's scheme.
func findOpener(raw string, known []engineOpener) (engineOpener, error) {
	name, rest, found := strings.Cut(raw, ":")
	userInfo := strings.Contains(rest, "@") && !strings.HasPrefix(rest, "//")
	at := slices.IndexFunc(known, func(o engineOpener) bool { return slices.Contains(o.schemes, name) })
	allowed := strings.Join(urlForms(known), " or ")
	switch {
	case !found, at < 0 && (userInfo || !scheme.MatchString(name)):
		// What looks like a scheme may be the user name of "user:password@host".
		if found {
			raw = ""
		}
		return engineOpener{}, &URLError{Part: "a value without a scheme", Value: showable(raw), Allowed: allowed}
	case at < 0:
		return engineOpener{}, &URLError{Part: "scheme", Value: name, Allowed: allowed}
	}
	return known[at], nil
}

var parameter = regexp.MustCompile(`^[a-z][a-z0-9_]*=`)

// parseLocation returns what follows the scheme of a URL, as typed, and its parameters. known are the parameters of the
// engine with their allowed values.
func parseLocation(raw string, known map[string][]string) (at string, given map[string]string, err error) {
	name, rest, _ := strings.Cut(raw, ":")
	rest, query, _ := strings.Cut(rest, "?")
	given = map[string]string{}
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		word := strings.TrimSuffix(parameter.FindString(part), "=") // anything else may be a secret
		values := known[word]
		_, twice := given[word]
		value := strings.TrimPrefix(part, word+"=")
		switch {
		case word == "":
			return "", nil, &URLError{Part: "what follows the question mark", Allowed: allowedParameters(name, known)}
		case values == nil:
			return "", nil, &URLError{Part: "parameter", Value: word, Allowed: allowedParameters(name, known)}
		case twice:
			return "", nil, &URLError{Part: "parameter", Value: word, Allowed: "given once"}
		case !slices.Contains(values, value):
			return "", nil, &URLError{Part: "parameter", Value: word, Allowed: strings.Join(values, " or ")}
		}
		given[word] = value
	}
	return rest, given, nil
}

func allowedParameters(scheme string, known map[string][]string) string {
	if len(known) == 0 {
		return "left out: " + scheme + ": has no parameters"
	}
	return "one of " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}

// showable returns the text if no password can be part of it, and "" otherwise.
func showable(text string) string {
	if strings.Contains(text, "@") {
		return ""
	}
	return text
}

// urlForms returns an example URL for each engine, for messages.
func urlForms(known []engineOpener) []string {
	list := make([]string, len(known))
	for i, o := range known {
		list[i] = o.form
	}
	return list
}

// IsPostgres reports whether a URL is one of the engine postgres, which also reads the environment variables of its
// client.
func IsPostgres(raw string) bool {
	return strings.HasPrefix(raw, "postgres://") || strings.HasPrefix(raw, "postgresql://")
}
