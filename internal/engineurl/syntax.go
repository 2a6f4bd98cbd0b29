package engineurl

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Syntax says what the URLs of an engine look like. T is what the engine makes of a URL.
type Syntax[T any] struct {
	Engine     string   // the name of the engine, as in "redis", for errors
	Schemes    []string // without "://"
	Parameters []Parameter[T]
	// TLS, if not nil, returns what the parameters ca, cert, key and server_name set. TLSSchemes are
	// the schemes that ask for TLS, and have these parameters.
	TLS        func(t *T) *TLS
	TLSSchemes []string
	// Unknown, if not nil, takes unknown parameters, as given: something else parses them. Without
	// it, they are not allowed.
	Unknown func(t *T, parameter string)
}

var plainScheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// Split splits a URL into its parts. The case of its scheme does not matter. Any error is an [*Error].
func (s *Syntax[T]) Split(raw string) (*URL, error) {
	given, rest, found := strings.Cut(raw, "://")
	scheme := strings.ToLower(given)
	known := slices.Contains(s.Schemes, scheme)
	switch {
	case !found || !known && !plainScheme.MatchString(given): // what is there may be a password
		allowed := "one that begins with " + schemeList(s.Schemes)
		return nil, &Error{Part: "a value without a scheme", Allowed: allowed, Engine: s.Engine}
	case !known:
		return nil, &Error{Part: "scheme", Value: scheme, Allowed: schemeList(s.Schemes), Engine: s.Engine}
	}
	u := &URL{Scheme: scheme, engine: s.Engine}
	if err := u.split(rest); err != nil {
		return nil, err
	}
	return u, nil
}

func schemeList(schemes []string) string { return strings.Join(schemes, ":// or ") + "://" }

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// SetParameters sets what the parameters of the URL say. Any error is an [*Error]. It does not show
// an unknown name that may be part of a password.
func (s *Syntax[T]) SetParameters(u *URL, t *T) error {
	if s.TLS != nil {
		s.TLS(t).On = slices.Contains(s.TLSSchemes, u.Scheme)
	}
	parameters := s.all()
	var seen []string
	for given := range strings.SplitSeq(u.query, "&") {
		if given == "" {
			continue
		}
		encoded, text, assigned := strings.Cut(given, "=")
		name, nameErr := url.QueryUnescape(encoded)
		value, valueErr := url.QueryUnescape(text)
		i := slices.IndexFunc(parameters, func(p Parameter[T]) bool { return p.name == name })
		switch {
		case i < 0 && s.Unknown != nil:
			s.Unknown(t, given)
			continue
		case nameErr != nil || strings.Contains(given, ";"): // nameErr quotes it
			return u.NotAllowed("what follows the question mark", "name=value pairs joined by &, percent-encoded")
		case i < 0 && (u.suspect || !assigned || !plainName.MatchString(encoded)):
			return u.NotAllowed("a parameter that is not known", s.allowedNames(u.Scheme))
		case i < 0:
			return u.BadParameter(name, s.allowedNames(u.Scheme))
		case !parameters[i].belongsTo(u.Scheme):
			return u.BadParameter(name, "left out: it belongs to "+schemeList(parameters[i].schemes))
		case slices.Contains(seen, name):
			return u.BadParameter(name, "given once")
		case valueErr != nil: // it quotes the value
			return u.BadParameter(name, "percent-encoded: a % in it is written as %25")
		}
		seen = append(seen, name)
		if allowed := parameters[i].set(t, value); allowed != "" {
			return u.BadParameter(name, allowed)
		}
	}
	if s.TLS != nil && !s.TLS(t).isComplete() {
		return u.NotAllowed("only one of the parameters cert and key", "both, or none")
	}
	return nil
}

// all returns all parameters.
func (s *Syntax[T]) all() []Parameter[T] {
	all := slices.Clip(s.Parameters)
	if s.TLS == nil {
		return all
	}
	for _, name := range tlsParameters {
		set := func(t *T, value string) string { return s.TLS(t).set(name, value) }
		all = append(all, Text(name, set).Only(s.TLSSchemes...))
	}
	return all
}

// allowedNames says which parameters a scheme has.
func (s *Syntax[T]) allowedNames(scheme string) string {
	var names []string
	for _, p := range s.all() {
		if p.belongsTo(scheme) {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return "left out: " + scheme + ": has no parameters"
	}
	return oneOf + strings.Join(names, ", ")
}

// oneOf begins the list of the parameters that a URL may have.
const oneOf = "one of "

// Own returns an error of a part of a URL, as [Syntax.Unknown] handed it on, as an error of the whole URL: where the
// error lists the parameters that are allowed, those of the whole URL are among them.
func (s *Syntax[T]) Own(e *Error, scheme string) *Error {
	own := *e
	own.Engine = s.Engine
	if names, found := strings.CutPrefix(e.Allowed, oneOf); found && len(s.Parameters) > 0 {
		own.Allowed = s.allowedNames(scheme) + ", " + names
	}
	return &own
}
