package etcd

import (
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// URLError says what is wrong with the URL given to [Open]. Its field Part says which part, such as "scheme" or
// "parameter", Value is the name of the scheme or of the parameter, if it may be shown, and Allowed says what is
// allowed. It never contains anything of user names, passwords, hosts or values of parameters, even if the URL is so
// broken that a password stands in place of something else.
type URLError = engineurl.Error

// Environment variables for what the URL given to [Open] leaves out, so that no file and no command line needs to hold
// a password. The URL takes precedence. Instead of the password, LEASEHOLD_ETCD_PASSWORD_FILE may name a file that
// contains it, on one line.
const (
	EnvUser     = "LEASEHOLD_ETCD_USER"
	EnvPassword = "LEASEHOLD_ETCD_PASSWORD"
)

// target is a checked URL. It holds a password, so it must not be printed.
type target struct {
	addresses []string // host:port

	user, password       string
	timeout, dialTimeout time.Duration
	tls                  engineurl.TLS
	opts                 []Option
}

// Defaults of the client that Open makes. If the first member does not answer, a request of the library, which may take
// 5 s, has time for a second one.
const (
	defaultDialTimeout = 2 * time.Second
	defaultTimeout     = 3 * time.Second
	defaultPort        = "2379"
)

var urlSyntax = engineurl.Syntax[target]{
	Engine:  "etcd",
	Schemes: []string{"etcd", "etcds"},
	Parameters: []engineurl.Parameter[target]{
		engineurl.Text("prefix", (*target).setPrefix),
		engineurl.DurationTo("timeout", func(t *target) *time.Duration { return &t.timeout }),
		engineurl.DurationTo("dial_timeout", func(t *target) *time.Duration { return &t.dialTimeout }),
	},
	TLS:        func(t *target) *engineurl.TLS { return &t.tls },
	TLSSchemes: []string{"etcds"},
}

// parseURL parses and checks a URL.
func parseURL(raw string, getenv func(string) string) (*target, error) {
	u, err := urlSyntax.Split(raw)
	if err != nil {
		return nil, err
	}
	t := &target{timeout: defaultTimeout, dialTimeout: defaultDialTimeout}
	if t.user, t.password, err = u.Login(getenv, EnvUser, EnvPassword); err != nil {
		return nil, err
	}
	if (t.user == "") != (t.password == "") {
		return nil, u.NotAllowed("only one of user name and password",
			"both, or none; what the URL leaves out is taken from "+EnvUser+" and "+EnvPassword)
	}
	if t.addresses, err = u.Addresses(defaultPort, defaultPort); err != nil {
		return nil, err
	}
	if len(u.Path) > 1 {
		return nil, u.NotAllowed("path", "left out, as in etcd://h1:2379,h2:2379,h3:2379")
	}
	return t, urlSyntax.SetParameters(u, t)
}

func (t *target) setPrefix(prefix string) (allowed string) {
	o := WithPrefix(prefix)
	if e, ok := errors.AsType[*OptionError](o(&config{})); ok {
		return e.Allowed
	}
	t.opts = append(t.opts, o)
	return ""
}
