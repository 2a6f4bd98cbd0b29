package redlock

import (
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/redis"
)

// Option changes a setting of [New].
type Option func(*config) error

// config is the settings that options change.
type config struct {
	timeout, minValidity time.Duration
	nodeOptions          []redis.Option
	nameless             bool // a client does not show the address of its server
}

// DefaultNodeTimeout is how long one server has for one request, unless [WithNodeTimeout] says otherwise.
const DefaultNodeTimeout = 500 * time.Millisecond

// OptionError says which option has a value that is not allowed.
type OptionError struct {
	// Option is its name, as in "WithNodeTimeout".
	Option string
	// Allowed says what may be given.
	Allowed string
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("redlock engine: %s must be %s", e.Option, e.Allowed)
}

var errNoServers = errors.New("redlock engine: no servers: give a client for each of three or five independent masters")

// WithNodeTimeout sets how long one server has for one request before it counts as silent: from 1 ms to 10 s. It should
// be a small part of the ttl of leases, and many times what a request takes. Nobody waits for it as long as a majority
// answers. Defaults to 500 ms.
func WithNodeTimeout(d time.Duration) Option {
	return func(c *config) error {
		c.timeout = d
		if d < time.Millisecond || d > 10*time.Second {
			return &OptionError{"WithNodeTimeout", "between 1ms and 10s"}
		}
		return nil
	}
}

// WithMinValidity sets how much of a lease must be left when a majority has granted it, from 0 to 24 h. A lease of
// which less is left is released, and the take fails. Defaults to 0: the library itself accepts no lease that is over.
func WithMinValidity(d time.Duration) Option {
	return func(c *config) error {
		c.minValidity = d
		if d < 0 || d > 24*time.Hour {
			return &OptionError{"WithMinValidity", "between 0s and 24h"}
		}
		return nil
	}
}

// WithNodes sets options of package redis for all servers. [redis.WithMaxTTL] is also for how long a restarted server
// does not vote; [redis.WithoutFailoverGuard] lets it vote at once, although it may have forgotten leases.
func WithNodes(opts ...redis.Option) Option {
	return func(c *config) error {
		c.nodeOptions = append(c.nodeOptions, opts...)
		return nil
	}
}
