package redis

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/logging"
)

// quiet is a dialer that does not fail, but makes a connection that does. The client writes a line to standard error for each failure to dial, into a log that
// all clients of the process share; one whose connection breaks says so in the error alone. It also goes on to dial for each request, where it would answer
// with the last failure for up to a second after the server is back.
func quiet(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return undialed{why: &dialError{err}}, nil
		}
		return conn, nil
	}
}

// dialError is the error of a connection that was never made. The client unwraps what it meets on a new connection once, and shows what is in it.
type dialError struct{ error }

// Unwrap returns why.
func (e *dialError) Unwrap() error { return e.error }

// undialed is a connection that was never made.
type undialed struct{ why error }

// Read implements net.Conn.
func (c undialed) Read([]byte) (int, error) { return 0, c.why }

// Write implements net.Conn.
func (c undialed) Write([]byte) (int, error) { return 0, c.why }

// Close implements net.Conn.
func (undialed) Close() error { return nil }

// LocalAddr implements net.Conn.
func (undialed) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (undialed) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements net.Conn.
func (undialed) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (undialed) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (undialed) SetWriteDeadline(time.Time) error { return nil }

// muteLog ends the log that all clients of the process share. A client for Sentinels writes there also where all is well, and there is no other way to stop
// it. It is done once, so that a program that sets a logger afterwards keeps it.
var muteLog = sync.OnceFunc(logging.Disable)
