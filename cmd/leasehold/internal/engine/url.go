// Package engine opens the engine that a URL names.
package engine

import (
	"regexp"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// URLError says what is wrong with an engine URL. It never contains user names, passwords or values of parameters.
type URLError = engineurl.Error

var scheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// findOpener returns the opener of the URL's scheme.
func findOpener(raw string, known []engineOpener) (engineOpener, error) {
	given, rest, found := strings.Cut(raw, ":")
	name := strings.ToLower(given)
	userInfo := strings.Contains(rest, "@") && !strings.HasPrefix(rest, "//")
	at := slices.IndexFunc(known, func(o engineOpener) bool { return slices.Contains(o.schemes, name) })
	allowed := strings.Join(urlForms(known), " or ")
	switch {
	case !found, at < 0 && (userInfo || !scheme.MatchString(given)):
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

// find returns the opener of the URL's scheme, if this build has it.
func find(raw string) (engineOpener, error) {
	o, err := findOpener(raw, inBuild)
	if err == nil {
		return o, nil
	}
	if leftOut, known := findOpener(raw, openers); known == nil {
		return engineOpener{}, &MissingError{Engine: leftOut.name(), Tag: leftOut.tag}
	}
	return engineOpener{}, err
}

// name returns the name of the engine.
func (o engineOpener) name() string {
	name, _, _ := strings.Cut(o.schemes[0], "+")
	return name
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
	scheme, _, _ := strings.Cut(raw, "://")
	return strings.EqualFold(scheme, "postgres") || strings.EqualFold(scheme, "postgresql")
}
