package engineurl

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// URL is a URL that was split into its parts. It contains a password: it must not be printed.
type URL struct {
	Scheme         string
	Authority      string // user, password and hosts, as given
	User, Password string // decoded
	Hosts          string // a list, as it was given
	Path           string // with its leading slash, as given; or empty

	engine  string
	query   string
	suspect bool // part of a password may be in another position
}

// SplitLocal splits a URL without hosts, SCHEME:PATH[?PARAMETERS], and decodes nothing of the path.
func SplitLocal(raw string) *URL {
	u := &URL{suspect: strings.Contains(raw, "@")}
	u.Scheme, u.Path, _ = strings.Cut(raw, ":")
	u.Scheme = strings.ToLower(u.Scheme)
	u.Path, u.query, _ = strings.Cut(u.Path, "?")
	return u
}

// split splits what follows the "://" of a URL. It does not use net/url, which rejects lists of
// hosts, and quotes passwords in its errors.
func (u *URL) split(rest string) error {
	if strings.Contains(rest, "#") {
		return u.NotAllowed("a # in it", "written as %23")
	}
	rest, u.query, _ = strings.Cut(rest, "?")
	u.Authority = rest
	if i := strings.Index(rest, "/"); i >= 0 {
		u.Authority, u.Path = rest[:i], rest[i:]
	}
	var info string
	info, u.Hosts = "", u.Authority
	if i := strings.LastIndex(u.Authority, "@"); i >= 0 {
		info, u.Hosts = u.Authority[:i], u.Authority[i+1:]
	}
	switch {
	case isList(info):
		return u.NotAllowed("a user or a password inside of the list of hosts", "one for all of them, before "+
			"the list, as in USER:PASSWORD@HOST1,HOST2 (and @ and , in a password must be written as %40 and %2C)")
	case u.Authority != "" && strings.Contains(u.Path, "@"):
		// The text before the slash may be the beginning of a password, and would be looked up as a
		// host.
		return u.NotAllowed("an @ behind the first slash", "written as %40, and a slash in a password as %2F")
	}
	// If an @ follows, the text before it may be a password that contains an unescaped slash or
	// question mark, even if there is another @ in the user name.
	u.suspect = strings.Contains(u.Path+u.query, "@")
	user, password, _ := strings.Cut(info, ":")
	var err error
	if u.User, err = url.PathUnescape(user); err == nil {
		u.Password, err = url.PathUnescape(password)
	}
	if err != nil { // err quotes it
		return u.NotAllowed("user name or password", "percent-encoded: a % in it is written as %25")
	}
	return nil
}

// isList reports whether the text before the last @ of an authority is the beginning of a list of
// hosts, some of which have a user of their own. All hosts but the last would otherwise be read as
// part of the password, and only one server would be left.
func isList(info string) bool {
	first, rest, list := strings.Cut(info, ",")
	if !list {
		return false
	}
	if strings.Contains(info[:strings.LastIndex(info, ",")], "@") {
		return true
	}
	_, err := Address(first, "1", "1")
	return err == nil && (!strings.Contains(first, ":") || strings.Contains(rest, ":"))
}

// NotAllowed returns the error for a part of the URL that is not allowed. The texts must not
// contain any part of the URL.
func (u *URL) NotAllowed(part, allowed string) error {
	return &Error{Part: part, Allowed: allowed, Engine: u.engine}
}

// BadParameter returns the error for a parameter whose value is not allowed.
func (u *URL) BadParameter(name, allowed string) error {
	return &Error{Part: partParameter, Value: name, Allowed: allowed, Engine: u.engine}
}

// Addresses reads the list of hosts with [Address]. It drops duplicates, so that a server that
// hangs is tried only once.
func (u *URL) Addresses(port, usual string) (all []string, err error) {
	for one := range strings.SplitSeq(u.Hosts, ",") {
		address, err := Address(one, port, usual)
		if fault, is := errors.AsType[*Error](err); is {
			return nil, u.NotAllowed(fault.Part, fault.Allowed)
		}
		if !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all, nil
}

// Login returns the user and the password. What the URL leaves out is taken from the environment;
// for the password, see [Secret].
func (u *URL) Login(
	getenv func(string) string, userVariable, passwordVariable string,
) (user, password string, err error) {
	password, err = u.OrSecret(u.Password, getenv, passwordVariable)
	return cmp.Or(u.User, getenv(userVariable)), password, err
}

// OrSecret returns a value of the URL or, if that is empty, the [Secret] that an environment
// variable names.
func (u *URL) OrSecret(value string, getenv func(string) string, variable string) (string, error) {
	if value != "" {
		return value, nil
	}
	secret, err := Secret(getenv, variable)
	if err != nil {
		return "", fmt.Errorf("%s engine: %w", u.engine, err)
	}
	return secret, nil
}
