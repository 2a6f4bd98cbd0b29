package engineurl

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Parts are the parts of a URL after the scheme. They contain a password: they must not be printed.
type Parts struct {
	User, Password string // decoded
	Hosts          string // a list, as it was given
	Path           string // with its leading slash, as given; or empty

	query   string
	suspect bool // part of a password may be in another position
}

// Split splits what follows the "://" of a URL. It does not use net/url, which rejects lists of
// hosts, and quotes passwords in its errors.
func Split(rest string) (p Parts, fault *Fault) {
	if strings.Contains(rest, "#") {
		return p, &Fault{Part: "a # in it", Allowed: "written as %23"}
	}
	rest, p.query, _ = strings.Cut(rest, "?")
	authority := rest
	if i := strings.Index(rest, "/"); i >= 0 {
		authority, p.Path = rest[:i], rest[i:]
	}
	var info string
	info, p.Hosts = "", authority
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		info, p.Hosts = authority[:i], authority[i+1:]
	}
	switch {
	case IsList(info):
		return Parts{}, &OneUser
	case authority != "" && strings.Contains(p.Path, "@"):
		// The text before the slash may be the beginning of a password, and would be looked up as a
		// host.
		return Parts{}, &Slash
	}
	// If an @ follows, the text before it may be a password that contains an unescaped slash or
	// question mark, even if there is another @ in the user name.
	p.suspect = strings.Contains(p.Path+p.query, "@")
	user, password, _ := strings.Cut(info, ":")
	var err error
	if p.User, err = url.PathUnescape(user); err == nil {
		p.Password, err = url.PathUnescape(password)
	}
	if err != nil { // err quotes it
		return Parts{}, &Fault{Part: "user name or password", Allowed: "percent-encoded: a % in it is written as %25"}
	}
	return p, nil
}

// Faults of the part before the hosts, and what is allowed instead.
var (
	OneUser = Fault{Part: "a user or a password inside of the list of hosts", Allowed: "one for all of them, before " +
		"the list, as in USER:PASSWORD@HOST1,HOST2 (and @ and , in a password must be written as %40 and %2C)"}
	Slash = Fault{Part: "an @ behind the first slash", Allowed: "written as %40, and a slash in a password as %2F"}
)

// IsList reports whether the text before the last @ of an authority is the beginning of a list of
// hosts, some of which have a user of their own. All hosts but the last would otherwise be read as
// part of the password, and only one server would be left.
func IsList(info string) bool {
	first, rest, list := strings.Cut(info, ",")
	if !list {
		return false
	}
	if strings.Contains(info[:strings.LastIndex(info, ",")], "@") {
		return true
	}
	_, fault := Address(first, "1", "1")
	return fault == nil && (!strings.Contains(first, ":") || strings.Contains(rest, ":"))
}

// Addresses reads the list of hosts with [Address]. It drops duplicates, so that a server that
// hangs is tried only once.
func (p *Parts) Addresses(port, usual string) (all []string, fault *Fault) {
	for one := range strings.SplitSeq(p.Hosts, ",") {
		address, fault := Address(one, port, usual)
		if fault != nil {
			return nil, fault
		}
		if !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all, nil
}

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// Parameters reads name=value pairs, and calls set with each of them, in the order of names. If the
// value is not allowed, set returns what is; otherwise an empty string. known lists the valid
// names. For other names elsewhere, if not nil, returns the schemes that have such a parameter, if
// any.
//
// The error does not show an unknown name that may be part of a password.
func (p *Parts) Parameters(
	known []string, elsewhere func(name string) string, set func(name, value string) (allowed string),
) *Fault {
	values, err := url.ParseQuery(p.query)
	if err != nil { // err quotes it
		return &Fault{Part: "what follows the question mark", Allowed: "name=value pairs joined by &, percent-encoded"}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given, where := values[name], ""
		if !slices.Contains(known, name) && elsewhere != nil {
			where = elsewhere(name)
		}
		switch {
		case where != "":
			return &Fault{"parameter", name, "left out: it belongs to " + where}
		case !slices.Contains(known, name) && (p.suspect || !plainName.MatchString(name) ||
			!strings.Contains(p.query, name+"=")):
			return &Fault{Part: "a parameter that is not known", Allowed: "one of " + strings.Join(known, ", ")}
		case !slices.Contains(known, name):
			return &Fault{"parameter", name, "one of " + strings.Join(known, ", ")}
		case len(given) > 1:
			return &Fault{"parameter", name, "given once"}
		}
		if allowed := set(name, given[0]); allowed != "" {
			return &Fault{"parameter", name, allowed}
		}
	}
	return nil
}
