package redis

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/redis/internal/replicas"
)

// Option configures an engine when it is made.
type Option func(*config) error

// config is what options set.
type config struct {
	prefix    string
	maxTTL    time.Duration
	guard     bool
	polling   bool
	retention time.Duration
	nodeList  *nodeList // the list to which the server must belong; nil if the engine is used alone
	replicas  int       // how many must confirm a grant; see WithReplicas

	// replicasWithin is how long a request waits for them.
	replicasWithin time.Duration
}

// Defaults of an engine.
const (
	DefaultPrefix         = "lock:"
	DefaultMaxTTL         = time.Minute
	DefaultTokenRetention = 7 * 24 * time.Hour
)

// longestTTL is the largest value of WithMaxTTL. No marker of the guard closes grants for longer.
const longestTTL = 30 * 24 * time.Hour

// OptionError says which option has an invalid value.
type OptionError struct {
	// Option is the option's name, such as "WithMaxTTL".
	Option string
	// Allowed says what is valid.
	Allowed string
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("redis engine: %s must be %s", e.Option, e.Allowed)
}

// errNoClient is returned by New without a client.
var errNoClient = errors.New("redis engine: the client is nil: " +
	"make one with redis.NewClient, NewFailoverClient or NewClusterClient of go-redis")

// WithPrefix sets what precedes a name in the key of its lock. Engines exclude each other only if they have the same
// prefix. Other clients that lock the same key are excluded, too. No prefix should begin with another one in use:
// prefix "lock:" with the name "a:b", and prefix "lock:a:" with the name "b" are the same lock. Defaults to "lock:".
func WithPrefix(prefix string) Option {
	return func(c *config) error {
		c.prefix = prefix
		if prefix == "" || len(prefix) > 128 || strings.ContainsAny(prefix, "{}\x00") || prefix[0] == ':' {
			return &OptionError{"WithPrefix", "1 to 128 bytes without braces that do not begin with a colon"}
		}
		return nil
	}
}

// WithMaxTTL sets the longest ttl of a lease, and thereby for how long no lease is granted after a failover (see the
// package documentation). All engines that share locks should have the same. At least 1 second, at most 30 days.
// Defaults to 1 minute.
func WithMaxTTL(d time.Duration) Option {
	return func(c *config) error {
		c.maxTTL = d
		if d < time.Second || d > longestTTL {
			return &OptionError{"WithMaxTTL", "between 1s and 30 days"}
		}
		return nil
	}
}

// WithoutFailoverGuard lets leases be granted at once after a failover or a restart of the server. A lease that the
// previous server granted and that was not replicated in time may then be granted a second time. It is for servers on
// which a lock only saves work, and for servers that are started along with the program.
func WithoutFailoverGuard() Option {
	return func(c *config) error {
		c.guard = false
		return nil
	}
}

// WithReplicas makes a lease count only if n replicas have confirmed it within the given time (WAIT). A take that fewer
// confirm is undone and fails. This narrows what a failover can lose, at the price of another round trip between the
// servers. It does not replace the guard. Defaults to 0.
func WithReplicas(n int, within time.Duration) Option {
	return func(c *config) error {
		c.replicas, c.replicasWithin = n, within
		if !(replicas.Confirmation{Replicas: n, Within: within}).IsValid() {
			return &OptionError{"WithReplicas", replicas.Allowed}
		}
		return nil
	}
}

// WithTokenRetention sets for how long the last token of a name is remembered after its last grant. Later, tokens
// continue from the client's clock, so they still grow as long as clocks differ by less than this. All programs that
// share a server should have the same, as the shortest one counts. At least 1 hour, at most 10 years. Defaults to 7
// days.
func WithTokenRetention(d time.Duration) Option {
	return func(c *config) error {
		c.retention = d
		if d < time.Hour || d > 10*365*24*time.Hour {
			return &OptionError{"WithTokenRetention", "between 1h and 10 years"}
		}
		return nil
	}
}

// WithPolling makes waiters poll instead of being notified by messages. The engine does so by itself where it may not
// subscribe.
func WithPolling() Option {
	return func(c *config) error {
		c.polling = true
		return nil
	}
}
