package postgres

import (
	"fmt"
	"time"
)

// Option changes an engine at its creation.
type Option func(*config) error

// config is what options change.
type config struct {
	schema  string
	maxTTL  time.Duration
	polling bool
	guard   bool
}

// DefaultMaxTTL is the longest lease unless WithMaxTTL, or the parameter max_ttl, says otherwise.
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
	// Option is its name, as in "WithMaxTTL".
	Option string
	// Allowed says what may be given.
	Allowed string
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("postgres engine: %s must be %s", e.Option, e.Allowed)
}

// WithSchema sets the schema of the tables. Engines exclude each other only if they have the same one. 1 to 40 of the letters a to z, digits and
// underscores, not beginning with a digit or with pg_. Defaults to [DefaultSchema].
func WithSchema(schema string) Option {
	return func(c *config) error {
		c.schema = schema
		if _, err := migrations(schema); err != nil {
			return &OptionError{"WithSchema", allowedSchema + ", and not begin with pg_"}
		}
		return nil
	}
}

// WithMaxTTL sets the longest ttl that a lease may have, and with it for how long no lease is granted after the server has crashed, or another was
// promoted: then the longest of all engines that have ever used the schema counts. Defaults to 1 minute; at least 1 second, at most 24 hours.
func WithMaxTTL(d time.Duration) Option {
	return func(c *config) error {
		c.maxTTL = d
		if d < time.Second || d > 24*time.Hour {
			return &OptionError{"WithMaxTTL", "between 1s and 24h"}
		}
		return nil
	}
}

// WithPolling makes waiters ask again and again, every 20 ms at first and every half a second in the end, instead of being told by a message. It is for
// connections through PgBouncer in transaction mode, which does not pass messages on, and saves the connection that listens.
func WithPolling() Option {
	return func(c *config) error {
		c.polling = true
		return nil
	}
}

// WithoutCrashGuard lets leases be granted at once after the server has crashed, or another was promoted. A lease that the server before had granted
// may then be granted a second time, while its holder still believes that it holds. It is for locks that only save work, and for servers that are
// started along with the program.
func WithoutCrashGuard() Option {
	return func(c *config) error {
		c.guard = false
		return nil
	}
}
