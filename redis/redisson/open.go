package redisson

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/redis/internal/redisurl"
	"github.com/leasehold-go/leasehold/redis/internal/replicas"
)

// Open makes an engine with a client of its own, which [Engine.Close] closes. The URL is one of
//
//	redisson://[USER[:PASSWORD]@]HOST[:PORT][/DB]
//	redisson+unix://[USER[:PASSWORD]@]/PATH
//	redisson+sentinel://[USER[:PASSWORD]@]HOST[:PORT],HOST[:PORT].../MASTER
//	redisson+cluster://[USER[:PASSWORD]@]HOST[:PORT],HOST[:PORT]...
//
// with redissons instead of redisson for TLS. These parameters may follow a question mark, each at most once:
//
//	lock                  fenced, plain, spin, readwrite or fair; see WithLock
//	java_watchdog         see WithJavaWatchdogTimeout
//	messages              auto, sharded or unsharded; see WithMessages
//	prefix                see WithPrefix
//	semaphore_prefix      see WithSemaphorePrefix
//	latch_prefix          see WithLatchPrefix
//	replicas, replicas_wait   see WithReplicas; the wait is 1s by default
//
// and those of [github.com/leasehold-go/leasehold/redis.Open] that are about the connection: db, dial_timeout, timeout,
// pool, ca, cert, key, server_name, sentinel_user and sentinel_password. What is said there about passwords, errors and
// what is printed holds here, too. What the URL leaves out is taken from the environment, see [EnvUser].
func Open(rawURL string) (*Engine, error) { return openWith(rawURL, os.Getenv) }

func openWith(rawURL string, getenv func(string) string) (*Engine, error) {
	var t target
	if err := urlSyntax.Parse(rawURL, getenv, &t); err != nil {
		return nil, err
	}
	opened, err := t.Target.Open()
	if err != nil {
		return nil, err
	}
	e, err := New(opened.Redis, t.opts...)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	e.opened = opened
	return e, nil
}

// URLError says what is wrong with a URL given to [Open], as that of package redis does.
type URLError = engineurl.Error

// Environment variables for what the URL given to [Open] leaves out, so that no file or command line needs to hold a
// password. What the URL says takes precedence. Instead of a password, a variable of the same name with _FILE appended
// may name a file that holds it, on one line.
const (
	EnvUser             = "LEASEHOLD_REDISSON_USER"
	EnvPassword         = "LEASEHOLD_REDISSON_PASSWORD"
	EnvSentinelUser     = "LEASEHOLD_REDISSON_SENTINEL_USER"
	EnvSentinelPassword = "LEASEHOLD_REDISSON_SENTINEL_PASSWORD"
)

// target is a URL, parsed and checked. It holds passwords and must not be printed.
type target struct {
	redisurl.Target
	replicas replicas.InURL
	opts     []Option
}

var urlSyntax = redisurl.Syntax[target]{
	Engine: "redisson",
	Scheme: "redisson",
	Variables: redisurl.Variables{
		User: EnvUser, Password: EnvPassword, SentinelUser: EnvSentinelUser, SentinelPassword: EnvSentinelPassword,
	},
	Target: func(t *target) *redisurl.Target { return &t.Target },
	Own: []engineurl.Parameter[target]{
		engineurl.Text("lock", word(WithLock, lockTypes)),
		engineurl.Text("messages", word(WithMessages, messageKinds)),
		engineurl.Duration("java_watchdog", option(WithJavaWatchdogTimeout)),
		engineurl.Text("prefix", option(WithPrefix)),
		engineurl.Text("semaphore_prefix", option(WithSemaphorePrefix)),
		engineurl.Text("latch_prefix", option(WithLatchPrefix)),
		replicas.Number(func(t *target) *replicas.InURL { return &t.replicas }),
		replicas.Wait(func(t *target) *replicas.InURL { return &t.replicas }),
	},
	Check: func(t *target, u *engineurl.URL) error {
		return t.replicas.Set(u, func(n int, within time.Duration) (allowed string) {
			return option(func(n int) Option { return WithReplicas(n, within) })(t, n)
		})
	},
}

// option keeps an option for New. It returns what is valid if the option is not.
func option[V any](with func(V) Option) func(*target, V) (allowed string) {
	return func(t *target, value V) string {
		o := with(value)
		if e, ok := errors.AsType[*OptionError](o(&config{})); ok {
			return e.Allowed
		}
		t.opts = append(t.opts, o)
		return ""
	}
}

// word is option for a value that a URL names by a word.
func word[V ~int](with func(V) Option, words []string) func(*target, string) (allowed string) {
	return func(t *target, value string) string {
		i := slices.Index(words, value)
		if i < 0 {
			return "one of " + strings.Join(words, ", ")
		}
		return option(with)(t, V(i))
	}
}
