package redis

import (
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/redis/internal/redisurl"
	"github.com/leasehold-go/leasehold/redis/internal/replicas"
)

// URLError says what is wrong with a URL given to [Open]. Its field Part says which part, such as "scheme" or
// "parameter", Value is the name of the scheme or of the parameter, if it may be shown, and Allowed says what is valid.
// It never contains user names, passwords, hosts or values of parameters, even if the URL is so broken that a password
// is in the place of something else.
type URLError = engineurl.Error

// Environment variables for what the URL given to [Open] leaves out, so that no file or command line needs to hold a
// password. What the URL says takes precedence. Instead of a password, a variable of the same name with _FILE appended
// may name a file that holds it, on one line.
const (
	EnvUser             = "LEASEHOLD_REDIS_USER"
	EnvPassword         = "LEASEHOLD_REDIS_PASSWORD"
	EnvSentinelUser     = "LEASEHOLD_REDIS_SENTINEL_USER"
	EnvSentinelPassword = "LEASEHOLD_REDIS_SENTINEL_PASSWORD"
)

// target is a URL, parsed and checked. It holds passwords and must not be printed.
type target struct {
	redisurl.Target
	replicas replicas.InURL
	opts     []Option
}

var urlSyntax = redisurl.Syntax[target]{
	Engine: "redis",
	Scheme: "redis",
	Variables: redisurl.Variables{
		User: EnvUser, Password: EnvPassword, SentinelUser: EnvSentinelUser, SentinelPassword: EnvSentinelPassword,
	},
	Target: func(t *target) *redisurl.Target { return &t.Target },
	Own: []engineurl.Parameter[target]{
		engineurl.Text("prefix", option(WithPrefix)),
		engineurl.Duration("max_ttl", option(WithMaxTTL)),
		engineurl.Switch("guard", "off", func(t *target) { t.option(WithoutFailoverGuard()) }),
		replicas.Number(func(t *target) *replicas.InURL { return &t.replicas }),
		replicas.Wait(func(t *target) *replicas.InURL { return &t.replicas }),
		engineurl.Duration("retention", option(WithTokenRetention)),
		engineurl.Switch("polling", "on", func(t *target) { t.option(WithPolling()) }),
	},
	Check: func(t *target, u *engineurl.URL) error {
		return t.replicas.Set(u, func(n int, within time.Duration) string { return t.option(WithReplicas(n, within)) })
	},
}

// parseURL parses and checks a URL.
func parseURL(raw string, getenv func(string) string) (*target, error) {
	t := &target{}
	if err := urlSyntax.Parse(raw, getenv, t); err != nil {
		return nil, err
	}
	return t, nil
}

// option keeps an option for New. It returns what is valid if the option is not.
func (t *target) option(o Option) (allowed string) {
	if e, ok := errors.AsType[*OptionError](o(&config{})); ok {
		return e.Allowed
	}
	t.opts = append(t.opts, o)
	return ""
}

func option[V any](with func(V) Option) func(*target, V) (allowed string) {
	return func(t *target, value V) string { return t.option(with(value)) }
}
