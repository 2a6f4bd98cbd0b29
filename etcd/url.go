package etcd

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// URLError says what is wrong with the URL given to [Open]. Nothing of user names, passwords, hosts and the values of parameters is ever part of it,
// also where the URL is so broken that a password stands where something else belongs.
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
	s := "etcd engine: URL: " + e.Part
	if e.Value != "" {
		s += fmt.Sprintf(" %q", e.Value)
	}
	return s + " is not allowed: it must be " + e.Allowed
}

// Environment variables that say what the URL given to [Open] leaves out, so that no file and no command line needs to hold a password. What the URL
// does say counts.
const (
	EnvUser     = "LEASEHOLD_ETCD_USER"
	EnvPassword = "LEASEHOLD_ETCD_PASSWORD"
)

// target is what a URL says, checked. It holds a password: it must not be printed.
type target struct {
	tls       bool
	addresses []string // host:port

	user, password            string
	timeout, dialTimeout      time.Duration
	ca, cert, key, serverName string
	opts                      []Option
}

// Defaults of a client that Open makes. If the first member that is asked does not answer, a request of the library, which may take 5 s, has time for
// another one.
const (
	defaultDialTimeout = 2 * time.Second
	defaultTimeout     = 3 * time.Second
	defaultPort        = "2379"
)

const schemes = "etcd:// or etcds://"

// parseURL takes a URL apart. net/url is not used for the whole of it: it refuses lists of hosts, and quotes passwords in its errors.
func parseURL(raw string, getenv func(string) string) (*target, error) {
	scheme, rest, found := strings.Cut(raw, "://")
	switch {
	case !found || !plainScheme.MatchString(scheme): // what stands there may be a password
		return nil, &URLError{Part: "a value without a scheme", Allowed: "one that begins with " + schemes}
	case scheme != "etcd" && scheme != "etcds":
		return nil, &URLError{Part: "scheme", Value: scheme, Allowed: schemes}
	case strings.Contains(rest, "#"):
		return nil, &URLError{Part: "a # in it", Allowed: "written as %23"}
	}
	t := &target{tls: scheme == "etcds", timeout: defaultTimeout, dialTimeout: defaultDialTimeout}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	user, hosts := "", authority
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		user, hosts = authority[:i], authority[i+1:]
	}
	// With an @ further on, what stands before it may be a password that contains an unescaped slash or question mark.
	suspect := user == "" && strings.Contains(path+query, "@")
	if err := t.setUser(user, getenv); err != nil {
		return nil, err
	}
	if err := t.setHosts(hosts); err != nil {
		return nil, err
	}
	if path != "" {
		return nil, &URLError{Part: "path", Allowed: "left out, as in etcd://h1:2379,h2:2379,h3:2379"}
	}
	return t, t.setParameters(query, suspect)
}

var plainScheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

func (t *target) setUser(info string, getenv func(string) string) error {
	user, password, _ := strings.Cut(info, ":")
	var err error
	if t.user, err = url.PathUnescape(user); err == nil {
		t.password, err = url.PathUnescape(password)
	}
	if err != nil { // which quotes it
		return &URLError{Part: "user name or password", Allowed: "percent-encoded: a % in it is written as %25"}
	}
	if t.user == "" {
		t.user = getenv(EnvUser)
	}
	if t.password == "" {
		t.password = getenv(EnvPassword)
	}
	if (t.user == "") != (t.password == "") {
		return &URLError{Part: "only one of user name and password", Allowed: "both, or none; what the URL leaves out is taken from " + EnvUser + " and " + EnvPassword}
	}
	return nil
}

// setHosts reads a list of HOST[:PORT]. No value is ever shown: if the @ is missing, a password may stand here.
func (t *target) setHosts(list string) error {
	for one := range strings.SplitSeq(list, ",") {
		address, fault := engineurl.Address(one, defaultPort, defaultPort)
		if fault != nil {
			return &URLError{Part: fault.Part, Allowed: fault.Allowed}
		}
		if !slices.Contains(t.addresses, address) {
			t.addresses = append(t.addresses, address)
		}
	}
	return nil
}

// urlParameter is one that a URL may have.
type urlParameter struct {
	name string
	tls  bool // only with TLS
	// set returns what is allowed, if the value is not, and else nothing.
	set func(t *target, value string) (allowed string)
}

var urlParameters = []urlParameter{
	{"prefix", false, (*target).setPrefix},
	{"timeout", false, duration(func(t *target) *time.Duration { return &t.timeout })},
	{"dial_timeout", false, duration(func(t *target) *time.Duration { return &t.dialTimeout })},
	{"ca", true, file(func(t *target) *string { return &t.ca })},
	{"cert", true, file(func(t *target) *string { return &t.cert })},
	{"key", true, file(func(t *target) *string { return &t.key })},
	{"server_name", true, (*target).setServerName},
}

func (t *target) setPrefix(text string) (allowed string) {
	o := WithPrefix(text)
	if o(&config{}) != nil {
		return "1 to 128 bytes without a zero byte"
	}
	t.opts = append(t.opts, o)
	return ""
}

func (t *target) setServerName(text string) (allowed string) {
	if !engineurl.IsHost(text) {
		return "the name that stands in the server's certificate"
	}
	t.serverName = text
	return ""
}

func duration(field func(*target) *time.Duration) func(*target, string) string {
	return func(t *target, text string) string {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return "a duration above zero, as in 500ms or 3s"
		}
		*field(t) = d
		return ""
	}
}

func file(field func(*target) *string) func(*target, string) string {
	return func(t *target, text string) string {
		if text == "" {
			return "the path of a PEM file"
		}
		*field(t) = text
		return ""
	}
}

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// setParameters reads name=value pairs. Of a name that is not known nothing is shown if it may be a part of a password.
func (t *target) setParameters(query string, suspect bool) error {
	values, err := url.ParseQuery(query)
	if err != nil { // which quotes it
		return &URLError{Part: "what follows the question mark", Allowed: "name=value pairs joined by &, percent-encoded"}
	}
	var known []string
	for _, p := range urlParameters {
		if t.tls || !p.tls {
			known = append(known, p.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := slices.IndexFunc(urlParameters, func(p urlParameter) bool { return p.name == name })
		switch {
		case at < 0 && (suspect || !plainName.MatchString(name) || !strings.Contains(query, name+"=")):
			return &URLError{Part: "a parameter that is not known", Allowed: "one of " + strings.Join(known, ", ")}
		case at < 0:
			return &URLError{Part: "parameter", Value: name, Allowed: "one of " + strings.Join(known, ", ")}
		case urlParameters[at].tls && !t.tls:
			return &URLError{Part: "parameter", Value: name, Allowed: "left out: it belongs to etcds://"}
		case len(values[name]) > 1:
			return &URLError{Part: "parameter", Value: name, Allowed: "given once"}
		}
		if allowed := urlParameters[at].set(t, values[name][0]); allowed != "" {
			return &URLError{Part: "parameter", Value: name, Allowed: allowed}
		}
	}
	if (t.cert == "") != (t.key == "") {
		return &URLError{Part: "only one of the parameters cert and key", Allowed: "both, or none"}
	}
	return nil
}
