package redisurl

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/leasehold-go/leasehold/internal/exposure"
)

// Client is a client that was made from a URL. It is safe for concurrent use.
type Client struct {
	// Redis is the client of go-redis, which Close closes: a plain one, also behind Sentinels, or one of a Cluster.
	Redis redis.UniversalClient

	target      *Target
	tls         *tls.Config
	lastAddress atomic.Pointer[string] // the server to which the client connected last
	shut        func() error
}

// Open makes a client. It sends nothing. Errors are about files that cannot be read.
func (t *Target) Open() (*Client, error) {
	config, err := t.tls.Config(t.engine)
	if err != nil {
		return nil, err
	}
	c := &Client{target: t, tls: config}
	life, end := context.WithCancel(context.Background())
	c.Redis = t.client(c.recordAddress(t.dialer(life, config)))
	c.shut = sync.OnceValue(func() error {
		end() // Close of the client would wait for a Sentinel
		return c.Redis.Close()
	})
	return c, nil
}

// Close closes the client. It may be called more than once, and always returns the same.
func (c *Client) Close() error { return c.shut() }

// recordAddress returns a dialer that remembers which server it connected to.
func (c *Client) recordAddress(dial DialFunc) DialFunc {
	if c.target.shape != behindSentinels {
		c.lastAddress.Store(&c.target.addresses[0])
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil && !slices.Contains(c.target.addresses, address) {
			c.lastAddress.Store(&address)
		}
		return conn, err
	}
}

// LastAddress returns the address of the server to which the client connected last, behind Sentinels: it is empty until
// they have named one. Elsewhere it is the first address of the URL.
func (c *Client) LastAddress() string {
	if address := c.lastAddress.Load(); address != nil {
		return *address
	}
	return ""
}

// ToServer makes a client for one server, with the settings of this one. The caller closes it.
func (c *Client) ToServer(address string) *redis.Client {
	t := *c.target
	t.shape, t.addresses, t.pool = oneServer, []string{address}, 1
	return t.client(t.dialer(context.Background(), c.tls)).(*redis.Client)
}

// FindWeakness returns how others may listen on connections to an address, or nil.
func (c *Client) FindWeakness(address string) *exposure.Weakness {
	if c.target.shape == unixSocket {
		return nil
	}
	return exposure.FindWeakness(address, c.tls, c.target.password != "")
}

// SecretFiles returns the files with keys that the client has read.
func (c *Client) SecretFiles() []string { return c.target.tls.SecretFiles() }

// IsPasswordUnused reports whether there is a password for the user default, and the server that conn leads to has
// none. Then the server takes any password for that user, and only an AUTH without a user name tells.
func (c *Client) IsPasswordUnused(ctx context.Context, conn redis.Cmdable) bool {
	t := c.target
	if t.password == "" || t.user != "" && t.user != "default" {
		return false
	}
	_, err := conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Auth(ctx, t.password)
		return nil
	})
	return err != nil && strings.Contains(err.Error(), "without any password configured")
}

// clientName is the name of the connections in CLIENT LIST.
const clientName = "leasehold"

// setClientName names the connection. A server that refuses this works as well as any other.
func setClientName(ctx context.Context, c *redis.Conn) error {
	err := c.ClientSetName(ctx, clientName).Err()
	if _, refused := errors.AsType[redis.Error](err); refused {
		return nil
	}
	return err
}

// client makes the client. It does not retry, as far as that can be turned off: the error of a second attempt says
// nothing about the first one, which may have had an effect. A Cluster client still repeats a request whose connection
// broke, as often as it follows redirections.
func (t *Target) client(dial DialFunc) redis.UniversalClient {
	o := &redis.UniversalOptions{
		Addrs:                    t.addresses,
		MasterName:               t.master,
		Dialer:                   DialQuietly(dial),
		OnConnect:                setClientName,
		Username:                 t.user,
		Password:                 t.password,
		SentinelUsername:         t.sentinelUser,
		SentinelPassword:         t.sentinelPassword,
		DB:                       t.db,
		MaxRetries:               -1, // 0 would be the client's default
		DialerRetries:            1,
		DialTimeout:              t.dialTimeout,
		ReadTimeout:              t.timeout,
		WriteTimeout:             t.timeout,
		ContextTimeoutEnabled:    true,
		PoolSize:                 t.pool,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	switch t.shape {
	case clustered:
		c := o.Cluster()
		// Routing policies make the client ask for the list of all commands, regardless of the request's context. Our
		// commands all have a key that says where they go.
		c.DisableRoutingPolicies = true
		return redis.NewClusterClient(c)
	case behindSentinels:
		silenceLibraryLog()
		return redis.NewFailoverClient(o.Failover())
	}
	return redis.NewClient(o.Simple())
}
