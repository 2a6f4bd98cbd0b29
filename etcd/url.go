package etcd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// URLError says what is wrong with the URL given to [Open]. It never contains anything of user names, passwords, hosts
// or values of parameters, even if the URL is so broken that a password stands in place of something else.
type URLError struct {
	// Part is what is wrong, such as "scheme" or "parameter".
	Part string
	// Value is the name of the scheme or of the parameter, if Part is one of them and the name may be shown.
	Value string
	// Allowed says what is allowed.
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

// Environment variables for what the URL given to [Open] leaves out, so that no file and no command line needs to hold
// a password. The URL takes precedence. Instead of the password, LEASEHOLD_ETCD_PASSWORD_FILE may name a file that
// contains it, on one line.
const (
	EnvUser     = "LEASEHOLD_ETCD_USER"
	EnvPassword = "LEASEHOLD_ETCD_PASSWORD"
)

// target is a checked URL. It holds a password, so it must not be printed.
type target struct {
	tls       bool
	addresses []string // host:port

	user, password       string
	timeout, dialTimeout time.Duration
	files                engineurl.TLS
	opts                 []Option
}

// Defaults of the client that Open makes. If the first member does not answer, a request of the library, which may take
// 5 s, has time for a second one.
const (
	defaultDialTimeout = 2 * time.Second
	defaultTimeout     = 3 * time.Second
	defaultPort        = "2379"
)

const schemes = "etcd:// or etcds://"

// parseURL parses and checks a URL.
func parseURL(raw string, getenv func(string) string) (*target, error) {
	scheme, rest, found := strings.Cut(raw, "://")
	switch {
	case !found || !plainScheme.MatchString(scheme): // what is there may be a password
		return nil, &URLError{Part: "a value without a scheme", Allowed: "one that begins with " + schemes}
	case scheme != "etcd" && scheme != "etcds":
		return nil, &URLError{Part: "scheme", Value: scheme, Allowed: schemes}
	}
	p, fault := engineurl.Split(rest)
	if fault != nil {
		return nil, (*URLError)(fault)
	}
	t := &target{
		tls: scheme == "etcds", user: p.User, password: p.Password,
		timeout: defaultTimeout, dialTimeout: defaultDialTimeout,
	}
	if err := t.fillIn(getenv); err != nil {
		return nil, err
	}
	if t.addresses, fault = p.Addresses(defaultPort, defaultPort); fault != nil {
		return nil, (*URLError)(fault)
	}
	if len(p.Path) > 1 {
		return nil, &URLError{Part: "path", Allowed: "left out, as in etcd://h1:2379,h2:2379,h3:2379"}
	}
	return t, t.setParameters(&p)
}

var plainScheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// fillIn takes what the URL does not say about the user from the environment.
func (t *target) fillIn(getenv func(string) string) error {
	if t.user == "" {
		t.user = getenv(EnvUser)
	}
	if t.password == "" {
		var err error
		if t.password, err = engineurl.Secret(getenv, EnvPassword); err != nil {
			return fmt.Errorf("etcd engine: %w", err)
		}
	}
	if (t.user == "") != (t.password == "") {
		return &URLError{
			Part:    "only one of user name and password",
			Allowed: "both, or none; what the URL leaves out is taken from " + EnvUser + " and " + EnvPassword,
		}
	}
	return nil
}

// urlParameter is a parameter that a URL may have.
type urlParameter struct {
	name string
	tls  bool // only with TLS
	// set returns an empty string, or what is allowed if the value is not.
	set func(t *target, value string) (allowed string)
}

var urlParameters = []urlParameter{
	{"prefix", false, (*target).setPrefix},
	{"timeout", false, setDuration(func(t *target) *time.Duration { return &t.timeout })},
	{"dial_timeout", false, setDuration(func(t *target) *time.Duration { return &t.dialTimeout })},
	{"ca", true, setTLS("ca")},
	{"cert", true, setTLS("cert")},
	{"key", true, setTLS("key")},
	{"server_name", true, setTLS("server_name")},
}

func (t *target) setPrefix(text string) (allowed string) {
	o := WithPrefix(text)
	if o(&config{}) != nil {
		return "1 to 128 bytes without a zero byte"
	}
	t.opts = append(t.opts, o)
	return ""
}

// setTLS returns a function that sets the TLS parameter of that name.
func setTLS(name string) func(*target, string) string {
	return func(t *target, text string) string { return t.files.Set(name, text) }
}

func setDuration(field func(*target) *time.Duration) func(*target, string) string {
	return func(t *target, text string) string {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return "a duration above zero, as in 500ms or 3s"
		}
		*field(t) = d
		return ""
	}
}

func (t *target) setParameters(p *engineurl.Parts) error {
	var known []string
	for _, u := range urlParameters {
		if t.tls || !u.tls {
			known = append(known, u.name)
		}
	}
	index := func(name string) int {
		return slices.IndexFunc(urlParameters, func(u urlParameter) bool { return u.name == name })
	}
	elsewhere := func(name string) string {
		if index(name) < 0 {
			return ""
		}
		return "etcds://"
	}
	fault := p.Parameters(known, elsewhere, func(name, value string) string {
		return urlParameters[index(name)].set(t, value)
	})
	if fault == nil {
		fault = t.files.Fault()
	}
	if fault != nil {
		return (*URLError)(fault)
	}
	return nil
}
