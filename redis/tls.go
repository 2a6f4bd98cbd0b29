package redis

import (
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// told is a connection with TLS that says why the server has ended it. To the client a handshake with TLS 1.3 is over before the server has looked at the
// client's certificate. If the server has refused that before the first request is sent, sending it fails with a reset. The reason has been received by then.
type told struct{ *tls.Conn }

// Write implements net.Conn.
func (c told) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if failed, ok := errors.AsType[net.Error](err); ok && !failed.Timeout() {
		_ = c.SetReadDeadline(time.Now().Add(alertLimit)) // what has been received is there
		var none [1]byte
		if _, why := c.Read(none[:]); isAlert(why) {
			err = why
		}
	}
	return n, err
}

// alertLimit is how long reading the reason may take on a connection on which nothing can be sent.
const alertLimit = 100 * time.Millisecond

// isAlert reports whether an error is the reason that the other side has given. Its type is not exported.
func isAlert(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}
