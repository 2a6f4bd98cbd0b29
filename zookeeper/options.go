package zookeeper

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// Option is a setting of [New].
type Option func(*config) error

// config has the settings of an engine. It has a password, so it must not be printed.
type config struct {
	servers        []string
	prefix         string
	sessionTimeout time.Duration
	timeout        time.Duration
	user, password string
	extraACL       []zk.ACL      // more users of the nodes that the engine creates
	dialer         dialer        // nil for the one of package net
	tls            engineurl.TLS // of the URL
}

// dialer is a function such as net.Dialer.DialContext.
type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// Defaults of an engine.
const (
	DefaultPrefix         = "/leasehold"
	DefaultSessionTimeout = 40 * time.Second
	DefaultTimeout        = 5 * time.Second
)

// OptionError is returned by [New] for an option whose value is not allowed. It never shows the value. Change the value
// as Allowed says.
type OptionError struct {
	// Option is its name, as in "WithPrefix".
	Option string
	// Allowed says what may be given.
	Allowed string
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("zookeeper engine: %s must be %s", e.Option, e.Allowed)
}

// WithPrefix sets the node that all locks are below. It is created, with all nodes above it, when it is needed. Engines
// exclude each other only if they have the same prefix. At most 512 bytes, and not below /zookeeper. Defaults to
// "/leasehold".
func WithPrefix(path string) Option {
	return func(c *config) error {
		c.prefix = path
		if !validPath(path) {
			return &OptionError{"WithPrefix", "the path of a node, of at most 512 bytes, " +
				"as in /leasehold or /teams/a/locks, and not below /zookeeper"}
		}
		return nil
	}
}

// validPath reports whether path is that of a node, and not one that ZooKeeper reserves.
func validPath(path string) bool {
	below, rooted := strings.CutPrefix(path, "/")
	if !rooted || len(path) > 512 {
		return false
	}
	for part := range strings.SplitSeq(below, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
		for _, r := range part {
			if r != '%' && !isAllowedRune(r) {
				return false
			}
		}
	}
	return below != "zookeeper" && !strings.HasPrefix(below, "zookeeper/")
}

// WithSessionTimeout sets how long the servers wait for a sign of this program before they end its session, and free
// what it holds, whatever is left of its leases. A lease may last at most two fifths of it. The servers may grant
// another timeout: by default they allow 2 to 20 times their tickTime, which is 4 s to 40 s. Defaults to 40 s; 1 s to 1
// h.
func WithSessionTimeout(d time.Duration) Option {
	return func(c *config) error {
		c.sessionTimeout = d
		if d < time.Second || d > time.Hour {
			return &OptionError{"WithSessionTimeout", "between 1s and 1h"}
		}
		return nil
	}
}

// WithTimeout sets how long to wait for the answer to one request. The context of a request may end it earlier.
// Defaults to 5 s; 100 ms to 1 min.
func WithTimeout(d time.Duration) Option {
	return func(c *config) error {
		c.timeout = d
		if d < 100*time.Millisecond || d > time.Minute {
			return &OptionError{"WithTimeout", "between 100ms and 1m"}
		}
		return nil
	}
}

// WithAuth logs in with a user name and a password (scheme "digest"). The nodes of the locks then belong to that user,
// and nobody else may use them but those of [WithACL]. Without it, anybody who can reach the servers may do anything to
// the nodes.
func WithAuth(user, password string) Option {
	return func(c *config) error {
		c.user, c.password = user, password
		if user == "" || password == "" || strings.Contains(user, ":") || strings.ContainsRune(user+password, 0) {
			return &OptionError{"WithAuth", "a user name without a colon, and a password"}
		}
		return nil
	}
}

// WithACL sets who else may use the nodes that the engine creates, beside its own user: users who only read, operators,
// and the users of other programs that share locks. It is a list as zkCli.sh takes it, such as
// "digest:dashboard:HASH:r,digest:operator:HASH:cdrw": schemes, users, and the rights to create (c), delete (d), read
// (r), write (w) and administrate (a). HASH is the SHA-1 of USER:PASSWORD in base64. With it the engine needs a user,
// see [WithAuth], or a certificate. All programs should have the same list.
func WithACL(list string) Option {
	return func(c *config) error {
		others, ok := parseACL(list)
		if !ok {
			return &OptionError{"WithACL", "SCHEME:ID:RIGHTS, or several with commas in between, " +
				"as in digest:anna:HASH:r, where HASH is the SHA-1 of anna:PASSWORD in base64, " +
				"with rights out of cdrwa"}
		}
		c.extraACL = others
		return nil
	}
}

// WithDialer sets how connections to the servers are opened: through TLS, say, or a tunnel. It is called with "tcp" and
// one of the servers each time that a connection is needed, with a context that ends after at most two seconds. It may
// be called by several goroutines at once. Defaults to the DialContext of a net.Dialer.
func WithDialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(c *config) error {
		c.dialer = dial
		if dial == nil {
			return &OptionError{"WithDialer", "a function, such as the DialContext of a tls.Dialer"}
		}
		return nil
	}
}

// acl returns the ACL of the nodes that the engine creates.
func (c *config) acl() []zk.ACL {
	if c.user == "" && len(c.extraACL) == 0 {
		return zk.WorldACL(zk.PermAll)
	}
	return append(zk.AuthACL(zk.PermAll), c.extraACL...)
}
