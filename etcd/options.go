package etcd

import (
	"errors"
	"fmt"
	"strings"
)

// Option changes an engine when it is created.
type Option func(*config) error

// config is what options change.
type config struct{ prefix string }

// DefaultPrefix is what keys begin with unless [WithPrefix] changes it.
const DefaultPrefix = "leasehold/"

// OptionError reports an option whose value is not allowed.
type OptionError struct {
	// Option is the name of the option, such as "WithPrefix".
	Option string
	// Allowed says which values are allowed.
	Allowed string
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("etcd engine: %s must be %s", e.Option, e.Allowed)
}

// errNoClient is the error of New without a client.
var errNoClient = errors.New("etcd engine: the client is nil: make one with clientv3.New")

// WithPrefix sets what all keys of the engine begin with. Engines exclude each other only if they have the same prefix.
// It should end with a slash, and neither extend another prefix that is in use nor begin one. It has 1 to 128 bytes
// without a zero byte. Defaults to [DefaultPrefix].
func WithPrefix(prefix string) Option {
	return func(c *config) error {
		c.prefix = prefix
		if prefix == "" || len(prefix) > 128 || strings.Contains(prefix, "\x00") {
			return &OptionError{"WithPrefix", "1 to 128 bytes without a zero byte, as in \"leasehold/\""}
		}
		return nil
	}
}
