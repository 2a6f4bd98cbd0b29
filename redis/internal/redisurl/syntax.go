// Package redisurl makes clients of go-redis from the URLs of engines. These name one server, its socket, the Sentinels
// that watch it, or a Cluster. The clients print nothing, end with their contexts, and bear with servers that lie.
package redisurl

import (
	"cmp"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// Syntax says what the URLs of an engine look like. T is what the engine makes of a URL.
type Syntax[T any] struct {
	Engine string // the name of the engine, for errors
	// Scheme is the scheme of a single server, as in "redis". The others are made of it: rediss, redis+unix,
	// redis+sentinel, rediss+sentinel, redis+cluster and rediss+cluster.
	Scheme    string
	Variables Variables
	Target    func(t *T) *Target       // the part that this package sets
	Own       []engineurl.Parameter[T] // the engine's own parameters
	// Check, if not nil, checks the engine's own parameters together.
	Check func(t *T, u *engineurl.URL) error
}

// Variables are the names of environment variables for what a URL leaves out. Instead of a password, a variable of the
// same name with _FILE appended may name a file that holds it, on one line.
type Variables struct {
	User, Password                 string
	SentinelUser, SentinelPassword string
}

// Defaults of a client. A request of the library may take 5 s. If the first server does not answer, these leave time to
// ask another one.
const (
	defaultDialTimeout = 2 * time.Second
	defaultTimeout     = 3 * time.Second
)

// Parse parses and checks a URL, and sets t. Errors show neither passwords nor user names, hosts or values. They are
// [*engineurl.Error], or about a file that cannot be read.
func (s *Syntax[T]) Parse(raw string, getenv func(string) string, t *T) error {
	syntax := s.urls()
	u, err := syntax.Split(raw)
	if err != nil {
		return err
	}
	target := s.Target(t)
	*target = Target{
		engine: s.Engine, scheme: s.Scheme, shape: shapeOf(u.Scheme),
		dialTimeout: defaultDialTimeout, timeout: defaultTimeout,
	}
	if err := target.setHosts(u, s.Scheme); err != nil {
		return err
	}
	if err := target.setPath(u, s.Scheme); err != nil {
		return err
	}
	if err := syntax.SetParameters(u, t); err != nil {
		return err
	}
	if s.Check != nil {
		if err := s.Check(t, u); err != nil {
			return err
		}
	}
	target.user, target.password, err = u.Login(getenv, s.Variables.User, s.Variables.Password)
	if err == nil && target.shape == behindSentinels {
		target.sentinelUser = cmp.Or(target.sentinelUser, getenv(s.Variables.SentinelUser))
		target.sentinelPassword, err = u.OrSecret(target.sentinelPassword, getenv, s.Variables.SentinelPassword)
	}
	return err
}

// urls returns the schemes and all parameters.
func (s *Syntax[T]) urls() *engineurl.Syntax[T] {
	plain, secure := s.Scheme, s.Scheme+"s"
	sentinel := []string{plain + "+sentinel", secure + "+sentinel"}
	cluster := []string{plain + "+cluster", secure + "+cluster"}
	withDB := append([]string{plain, secure, plain + "+unix"}, sentinel...)
	at := s.Target
	parameters := []engineurl.Parameter[T]{
		engineurl.Text("db", func(t *T, text string) string { return at(t).setDB(text) }).Only(withDB...),
	}
	parameters = append(parameters, s.Own...)
	parameters = append(parameters,
		engineurl.DurationTo("dial_timeout", func(t *T) *time.Duration { return &at(t).dialTimeout }),
		engineurl.DurationTo("timeout", func(t *T) *time.Duration { return &at(t).timeout }),
		engineurl.NumberTo("pool", 1, 10_000, func(t *T) *int { return &at(t).pool }),
		engineurl.TextTo("sentinel_user", func(t *T) *string { return &at(t).sentinelUser }).Only(sentinel...),
		engineurl.TextTo("sentinel_password", func(t *T) *string { return &at(t).sentinelPassword }).Only(sentinel...),
	)
	return &engineurl.Syntax[T]{
		Engine:     s.Engine,
		Schemes:    slices.Concat(withDB, cluster),
		Parameters: parameters,
		TLS:        func(t *T) *engineurl.TLS { return &at(t).tls },
		TLSSchemes: []string{secure, sentinel[1], cluster[1]},
	}
}
