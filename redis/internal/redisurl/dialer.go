package redisurl

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/internal/peer"
)

// DialFunc dials, as the client wants it.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer returns a dialer that ends with its context. The one of go-redis goes on with a TLS handshake for which nobody
// waits any more. Connections to Sentinels also end with life.
func (t *Target) dialer(life context.Context, config *tls.Config) DialFunc {
	d := &net.Dialer{
		Timeout: t.dialTimeout,
		// A connection that only receives messages also notices within half a minute that its server has vanished.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	if t.shape == unixSocket {
		return d.DialContext
	}
	checker := t.newChecker()
	dialAs := func(ctx context.Context, network, address string, isSentinel bool) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, t.dialTimeout)
		defer cancel()
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		conn = checker.Check(conn, address)
		if config != nil {
			secure, err := peer.Handshake(ctx, conn, address, config)
			if err != nil {
				return nil, err
			}
			conn = alertConn{secure}
		}
		return t.checkRole(conn, address, isSentinel), nil
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialAs(ctx, network, address, false)
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
		conn, err := dialAs(ctx, network, address, true)
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
