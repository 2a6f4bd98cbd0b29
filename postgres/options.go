package postgres

import (
	"fmt"
	"time"
)

// Option sets an option of an engine that is being made.
type Option func(*config) error

// config has what options set.
type config struct {
	schema  string
	maxTTL  time.Duration
	polling bool
	guard   bool
}

// DefaultMaxTTL is the longest lease unless WithMaxTTL, or the parameter max_ttl, sets another one.
const DefaultMaxTTL = time.Minute

func newConfig(opts []Option) (config, error) {
	c := config{schema: DefaultSchema, maxTTL: DefaultMaxTTL, guard: true}
	for _, o := range opts {
		if err := o(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// OptionError says which option has a value that is not allowed.
type OptionError struct {
	// Option is the name of the option, as in "WithMaxTTL".
	Option string
	// Allowed says which values are allowed.
	Allowed string
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("postgres engine: %s must be %s", e.Option, e.Allowed)
}

// WithSchema sets the schema of the tables. Engines exclude each other only if they use the same schema. The name has 1
// to 40 characters: letters a to z, digits and underscores. It must not begin with a digit or with pg_. Defaults to
// [DefaultSchema].
func WithSchema(schema string) Option {
	return func(c *config) error {
		c.schema = schema
		if _, err := migrations(schema); err != nil {
			return &OptionError{"WithSchema", allowedSchema + ", and not begin with pg_"}
		}
		return nil
	}
}

// WithMaxTTL sets the longest ttl that a lease may have. It is also how long no lease is granted after the server has
// crashed or a standby was promoted; for this the longest ttl of all engines that have ever used the schema counts.
// Defaults to 1 minute; at least 1 second, at most 24 hours.
func WithMaxTTL(d time.Duration) Option {
	return func(c *config) error {
		c.maxTTL = d
		if d < time.Second || d > 24*time.Hour {
			return &OptionError{"WithMaxTTL", "between 1s and 24h"}
		}
		return nil
	}
}

// WithPolling makes waiters poll instead of being notified: every 20 ms at first, and every 500 ms at most. It is for
// connections through PgBouncer in transaction mode, which does not pass notifications on. It also saves the listening
// connection.
func WithPolling() Option {
	return func(c *config) error {
		c.polling = true
		return nil
	}
}

// WithoutCrashGuard lets leases be granted at once after the server has crashed or a standby was promoted. A lease from
// before may then be granted a second time while its holder still believes that it holds the lock. Use it for locks
// that only save work, and for servers that are started along with the program.
func WithoutCrashGuard() Option {
	return func(c *config) error {
		c.guard = false
		return nil
	}
}
