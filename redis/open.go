package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Open makes an engine with a client of its own, which [Engine.Close] closes. The URL is one of
//
//	redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]
//	redis+unix://[USER[:PASSWORD]@]/PATH
//	redis+sentinel://[USER[:PASSWORD]@]HOST[:PORT],HOST[:PORT].../MASTER
//	redis+cluster://[USER[:PASSWORD]@]HOST[:PORT],HOST[:PORT]...
//
// with rediss instead of redis for TLS. These parameters may follow a question mark, each at most once:
//
//	db                        the database, 0 by default
//	prefix                    see WithPrefix
//	max_ttl                   see WithMaxTTL
//	guard=off                 see WithoutFailoverGuard
//	replicas, replicas_wait   see WithReplicas; the wait is 1s by default
//	retention                 see WithTokenRetention
//	polling=on                see WithPolling
//	dial_timeout              for a connection to a server, 2s by default
//	timeout                   for a reply of a server, 3s by default; the context of a request ends it earlier
//	pool                      connections to a server, by default 10 for each processor
//	ca                        a file of PEM certificates to trust instead of the system's
//	cert, key                 the PEM files of the client's own certificate
//	server_name               the name that the server's certificate must have, by default the host
//	sentinel_user, sentinel_password   for the Sentinels, if they ask for a login
//
// Nothing is printed: all failures are errors of the request. Clients of go-redis write to standard error, through one
// logger that all clients of a process share. The client of Open writes nothing there. With Sentinels this takes more:
// the first Open of such a URL turns the logger off, as logging.Disable of go-redis does. A program that wants to see
// what its other clients write calls SetLogger of go-redis afterwards.
//
// User names and passwords are percent-encoded. What the URL leaves out is taken from the environment, see [EnvUser].
// Certificates are always checked.
//
// An invalid URL is a [*URLError]; other errors are about files that cannot be read. Open sends nothing: the first
// request finds out whether the server is there. No error shows a password.
//
// The client does not retry, except to follow redirections of a Cluster, since the library retries. In a
// Cluster it sends each request by itself; a program with hundreds of goroutines should give [New] a client of its
// own there, from its AutoPipeline method. On one server, the engine sends requests of several goroutines together.
func Open(rawURL string) (*Engine, error) { return openWith(rawURL, os.Getenv) }

func openWith(rawURL string, getenv func(string) string) (*Engine, error) {
	t, err := parseURL(rawURL, getenv)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := t.tls.Config("redis")
	if err != nil {
		return nil, err
	}
	others := &directDialer{target: t, tls: tlsConfig}
	life, end := context.WithCancel(context.Background())
	client := t.client(others.recordAddress(t.dialer(life, tlsConfig)))
	shut := sync.OnceValue(func() error {
		end() // Close of the client would wait for a Sentinel
		return client.Close()
	})
	e, err := New(client, t.opts...)
	if err != nil {
		return nil, errors.Join(err, shut())
	}
	e.directDialer = others
	e.closeClient = shut
	return e, nil
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
func (t *target) client(dial dialFunc) redis.UniversalClient {
	o := &redis.UniversalOptions{
		Addrs:                    t.addresses,
		MasterName:               t.master,
		Dialer:                   dialQuietly(dial),
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

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer returns a dialer that ends with its context. The one of go-redis goes on with a TLS handshake for which nobody
// waits any more. Connections to Sentinels also end with life.
func (t *target) dialer(life context.Context, config *tls.Config) dialFunc {
	d := &net.Dialer{
		Timeout: t.dialTimeout,
		// A connection that only receives messages also notices within half a minute that its server has vanished.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	dial := d.DialContext
	if config != nil {
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&tls.Dialer{NetDialer: d, Config: config}).DialContext(ctx, network, address)
			if err != nil {
				if op, dialed := errors.AsType[*net.OpError](err); !dialed || op.Op != "dial" {
					err = fmt.Errorf("TLS with %s: %w", address, err)
				}
				return nil, err
			}
			return alertConn{conn.(*tls.Conn)}, nil
		}
	}
	if t.shape != behindSentinels {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if !slices.Contains(t.addresses, address) {
			return dial(ctx, network, address)
		}
		ctx, cancel := context.WithTimeout(ctx, sentinelTimeout)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return sentinelConn{conn, context.AfterFunc(life, func() { _ = conn.Close() })}, nil
	}
}

// sentinelTimeout is how long a Sentinel may take to answer. The client asks all of them at the same time, but goes on
// only when each has answered or failed. One that hangs must not use up the time of a request.
const sentinelTimeout = time.Second

// sentinelConn is a connection to a Sentinel.
type sentinelConn struct {
	net.Conn
	cancelClose func() bool // keeps life from closing the connection; false if it is closed already
}

// Close implements net.Conn.
func (c sentinelConn) Close() error {
	if !c.cancelClose() {
		return nil
	}
	return c.Conn.Close()
}

// SetReadDeadline implements net.Conn. It leaves out the limit if there is no deadline: the client then waits for
// messages.
func (c sentinelConn) SetReadDeadline(t time.Time) error {
	if limit := time.Now().Add(sentinelTimeout); t.After(limit) {
		t = limit
	}
	return c.Conn.SetReadDeadline(t)
}
