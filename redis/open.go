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
// with rediss instead of redis for TLS, and these parameters behind a question mark, each at most once:
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
//	sentinel_user, sentinel_password   for the sentinels, if they want to know who asks
//
// Nothing is printed: whatever fails is an error of the request. Clients of go-redis write to standard error, through one logger that all clients of a process
// share. That of Open writes nothing there; only with Sentinels that logger must be turned off, which the first Open of such a URL does, as logging.Disable of
// go-redis. A program that wants to read what its other clients write then calls SetLogger of go-redis afterwards.
//
// User names and passwords are percent-encoded. What the URL leaves out is taken from the environment, see
// [EnvUser]. Certificates are always checked.
//
// A URL that is not allowed is a [*URLError]; other errors are those of files that cannot be read. Nothing is sent
// yet: the first request finds out whether the server is there. No error shows a password.
//
// The client does not retry, other than to follow a Cluster, since the library does, and it does not put requests of
// several goroutines together, since a program that holds one lock gains nothing by it. A program with hundreds of goroutines should give [New] a client
// of its own, from its AutoPipeline method.
func Open(rawURL string) (*Engine, error) { return openWith(rawURL, os.Getenv) }

func openWith(rawURL string, getenv func(string) string) (*Engine, error) {
	t, err := parseURL(rawURL, getenv)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := t.tlsConfig()
	if err != nil {
		return nil, err
	}
	others := &far{target: t, tls: tlsConfig}
	client := t.client(others.noting(t.dialer(tlsConfig)))
	e, err := New(client, t.opts...)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	e.far = others
	e.shut = sync.OnceValue(client.Close)
	return e, nil
}

// clientName is how connections appear in CLIENT LIST.
const clientName = "leasehold"

// introduce names the connection. A server that does not allow it is as good as any other.
func introduce(ctx context.Context, c *redis.Conn) error {
	err := c.ClientSetName(ctx, clientName).Err()
	if _, refused := errors.AsType[redis.Error](err); refused {
		return nil
	}
	return err
}

// client makes the client. It does not retry, as far as that can be turned off: the error of a second attempt says nothing
// about the first one, which may have been done. That of a cluster still repeats a request whose connection broke, within
// the limit for redirections.
func (t *target) client(dial dialFunc) redis.UniversalClient {
	o := &redis.UniversalOptions{
		Addrs:                    t.addresses,
		MasterName:               t.master,
		Dialer:                   quiet(dial),
		OnConnect:                introduce,
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
		// They make the client ask for the list of all commands, without regard to the context of the request. Ours all
		// have a key that says where they go.
		c.DisableRoutingPolicies = true
		return redis.NewClusterClient(c)
	case behindSentinels:
		muteLog()
		return redis.NewFailoverClient(o.Failover())
	}
	return redis.NewClient(o.Simple())
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer connects, and does so no longer than its context lasts: that of go-redis goes on with a TLS handshake
// that nobody waits for any more.
func (t *target) dialer(config *tls.Config) dialFunc {
	d := &net.Dialer{
		Timeout: t.dialTimeout,
		// A server that is gone without a word is noticed in half a minute also by those who only listen.
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
			return told{conn.(*tls.Conn)}, nil
		}
	}
	if t.shape != behindSentinels {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if !slices.Contains(t.addresses, address) {
			return dial(ctx, network, address)
		}
		ctx, cancel := context.WithTimeout(ctx, sentinelLimit)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return toSentinel{conn}, nil
	}
}

// sentinelLimit is how long a sentinel may take to answer. The client asks all of them at the same time, but goes on only
// when each has answered or failed: one that hangs must not use up the time of a request.
const sentinelLimit = time.Second

// toSentinel is a connection to a sentinel.
type toSentinel struct{ net.Conn }

// SetReadDeadline implements net.Conn. No deadline stays none: that is how the client listens.
func (c toSentinel) SetReadDeadline(t time.Time) error {
	if limit := time.Now().Add(sentinelLimit); t.After(limit) {
		t = limit
	}
	return c.Conn.SetReadDeadline(t)
}

// tlsConfig is nil for a URL without TLS.
func (t *target) tlsConfig() (*tls.Config, error) {
	if !t.tls {
		return nil, nil
	}
	c, err := t.files.Config()
	if err != nil {
		return nil, fmt.Errorf("redis engine: URL: %w", err)
	}
	return c, nil
}
