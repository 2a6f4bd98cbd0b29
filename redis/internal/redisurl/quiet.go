package redisurl

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/logging"
)

// DialQuietly returns a dialer that never fails, but returns a connection that does. For each failure to dial, go-redis
// writes a line to standard error, in a log that all clients of the process share. A broken connection shows only in
// the error. This also makes the client dial for each request. Otherwise it would repeat the last failure for up to a
// second after the server is back.
//
// Connections end with a reply that is too large.
func DialQuietly(dial DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return failedConn{why: &dialError{err}}, nil
		}
		return boundReplies(conn), nil
	}
}

// dialError is the error of a connection that was never made. The client unwraps an error on a new connection once, and
// shows what is inside.
type dialError struct{ error }

// Unwrap returns the cause.
func (e *dialError) Unwrap() error { return e.error }

// failedConn stands for a connection that was never made.
type failedConn struct{ why error }

// Read implements net.Conn.
func (c failedConn) Read([]byte) (int, error) { return 0, c.why }

// Write implements net.Conn.
func (c failedConn) Write([]byte) (int, error) { return 0, c.why }

// Close implements net.Conn.
func (failedConn) Close() error { return nil }

// LocalAddr implements net.Conn.
func (failedConn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (failedConn) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements net.Conn.
func (failedConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (failedConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (failedConn) SetWriteDeadline(time.Time) error { return nil }

// silenceLibraryLog turns off go-redis's log, which all clients of the process share. A Sentinel client writes there
// even when nothing is wrong, and nothing else stops it. It is done once, so that a program can set a logger afterwards
// and keep it.
var silenceLibraryLog = sync.OnceFunc(logging.Disable)
