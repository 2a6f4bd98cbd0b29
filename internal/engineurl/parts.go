package engineurl

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Parts are what follows the scheme of a URL, taken apart. They hold a password: they must not be printed.
type Parts struct {
	User, Password string // decoded
	Hosts          string // a list, as it was given
	Path           string // with the slash at its beginning, as it was given; or empty

	query   string
	suspect bool // a part of a password may stand where something else belongs
}

// Split takes apart what follows the "://" of a URL. net/url is not for that: it refuses lists of hosts, and quotes passwords in its errors.
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
	// With an @ further on, what stands before it may be a password that contains an unescaped slash or question mark, be there another @ in the name
	// of the user.
	p.suspect = strings.Contains(p.Path+p.query, "@")
	user, password, _ := strings.Cut(info, ":")
	var err error
	if p.User, err = url.PathUnescape(user); err == nil {
		p.Password, err = url.PathUnescape(password)
	}
	if err != nil { // which quotes it
		return Parts{}, &Fault{Part: "user name or password", Allowed: "percent-encoded: a % in it is written as %25"}
	}
	return p, nil
}

// Addresses reads the list of hosts with [Address]. One that is named twice is there once: the time to try one that hangs is well spent once.
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

// Parameters reads name=value pairs, and calls set with each of them, in the order of names. set returns what is allowed if the value is not, and else
// nothing. known are the names that there are; of others elsewhere, if it is set, says to which schemes they belong, if to any.
//
// Of a name that nobody knows nothing is shown if it may be a part of a password.
func (p *Parts) Parameters(known []string, elsewhere func(name string) string, set func(name, value string) (allowed string)) *Fault {
	values, err := url.ParseQuery(p.query)
	if err != nil { // which quotes it
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
		case !slices.Contains(known, name) && (p.suspect || !plainName.MatchString(name) || !strings.Contains(p.query, name+"=")):
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
