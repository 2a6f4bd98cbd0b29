// Package engine opens the engine that a URL names.
package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

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

// find returns what opens the engines of the URL's scheme.
func find(raw string, known []opener) (opener, error) {
	name, rest, found := strings.Cut(raw, ":")
	userInfo := strings.Contains(rest, "@") && !strings.HasPrefix(rest, "//")
	at := slices.IndexFunc(known, func(o opener) bool { return slices.Contains(o.schemes, name) })
	allowed := strings.Join(forms(known), " or ")
	switch {
	case !found, at < 0 && (userInfo || !scheme.MatchString(name)):
		// What looks like a scheme may be the user name of "user:password@host".
		if found {
			raw = ""
		}
		return opener{}, &URLError{Part: "a value without a scheme", Value: public(raw), Allowed: allowed}
	case at < 0:
		return opener{}, &URLError{Part: "scheme", Value: name, Allowed: allowed}
	}
	return known[at], nil
}

var parameter = regexp.MustCompile(`^[a-z][a-z0-9_]*=`)

// location returns what stands behind the scheme of a URL, as typed. known are the parameters of the engine, each with the values that it may have.
func location(raw string, known map[string][]string) (at string, given map[string]string, err error) {
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

// public returns the text if no password can be part of it.
func public(text string) string {
	if strings.Contains(text, "@") {
		return ""
	}
	return text
}

// forms lists what may be given, for messages.
func forms(known []opener) []string {
	list := make([]string, len(known))
	for i, o := range known {
		list[i] = o.form
	}
	return list
}

// IsPostgres reports whether a URL leads to the engine postgres, which reads the variables of its own client.
func IsPostgres(raw string) bool {
	return strings.HasPrefix(raw, "postgres://") || strings.HasPrefix(raw, "postgresql://")
}

var secretParameter = regexp.MustCompile(`(?i)pass|secret|token`)

// IsSecret reports whether the value of a parameter of that name may be a password.
func IsSecret(parameter string) bool { return secretParameter.MatchString(parameter) }

// WithoutPassword returns a URL without the passwords in it, and whether there were any. It leads to the same engine. Of one that is so broken that a password may stand anywhere, only
// the scheme is left.
func WithoutPassword(raw string) (stripped string, had bool) {
	name, rest, found := strings.Cut(raw, "://")
	if !found || !scheme.MatchString(name) || name == "sqlite" {
		return raw, false
	}
	rest, query, asked := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.Index(rest, "/"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Contains(path+query, "@") {
		return name + "://", true
	}
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		user, password, _ := strings.Cut(authority[:i], ":")
		had = password != ""
		if authority = authority[i+1:]; user != "" {
			authority = user + "@" + authority
		}
	}
	var others []string
	for part := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(part, "="); IsSecret(name) && name != "passfile" {
			had = true
			continue
		}
		others = append(others, part)
	}
	if !had {
		return raw, false
	}
	if stripped = name + "://" + authority + path; asked && len(others) > 0 {
		stripped += "?" + strings.Join(others, "&")
	}
	return stripped, true
}
