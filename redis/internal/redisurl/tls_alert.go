package redisurl

import (
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// alertConn is a TLS connection that says why the server has closed it. For the client, a TLS 1.3 handshake is over
// before the server has checked the client's certificate. If the server rejects it before the first request is sent,
// sending fails with a reset. The server's reason has been received by then.
type alertConn struct{ *tls.Conn }

// Write implements net.Conn.
func (c alertConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if failed, ok := errors.AsType[net.Error](err); ok && !failed.Timeout() {
		_ = c.SetReadDeadline(time.Now().Add(alertReadTimeout)) // what was received can be read at once
		var none [1]byte
		if _, why := c.Read(none[:]); isAlert(why) {
			err = why
		}
	}
	return n, err
}

// alertReadTimeout limits reading the reason from a connection that can no longer send.
const alertReadTimeout = 100 * time.Millisecond

// isAlert reports whether an error is the reason that the other side gave. Its type is not exported.
func isAlert(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}
