package etcd

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

const (
	// pingAckDelay is how long the answer to a ping waits. It is much shorter than any server waits for it.
	pingAckDelay = 50 * time.Millisecond
	// maxHeldAcks is how many answers wait at the same time.
	maxHeldAcks = 4
	// pingAckHeader is the header of the answer to a ping: 8 bytes, type PING, flag ACK, stream 0.
	pingAckHeader = "\x00\x00\x08\x06\x01\x00\x00\x00\x00"
	pingAckSize   = len(pingAckHeader) + 8
	// prefaceSize is the size of what a client sends before the first frame.
	prefaceSize = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
)

// ackDelayer are credentials whose connections delay the answers to a server's pings, with TLS or without.
type ackDelayer struct {
	credentials.TransportCredentials
	pool *connections // of which the connections are
}

// ClientHandshake implements credentials.TransportCredentials.
func (d ackDelayer) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := d.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return conn, info, err
	}
	below, _ := raw.(*connection)
	return newPingAcks(conn, below, d.pool.ackDelay), info, nil
}

// Clone implements credentials.TransportCredentials.
func (d ackDelayer) Clone() credentials.TransportCredentials {
	return ackDelayer{d.TransportCredentials.Clone(), d.pool}
}

// pingAcks is a connection that delays the answers to a server's pings.
//
// A gRPC server sends a ping after each request, to measure how much fits into the connection, unless its last ping has
// no answer yet. It need not know that for requests as small as these, and each ping wakes both sides twice. With the
// delay there are at most twenty a second, and not one for each request.
type pingAcks struct {
	net.Conn
	below *connection // below TLS; may be nil
	delay time.Duration

	mu      sync.Mutex
	frames  framePosition
	held    []byte // answers that wait
	due     bool   // they are sent when the frame that is being written has ended
	without []byte // memory for what is written without answers
}

// newPingAcks returns a connection to which nothing was written yet.
func newPingAcks(conn net.Conn, below *connection, delay time.Duration) *pingAcks {
	return &pingAcks{Conn: conn, below: below, delay: delay, frames: framePosition{rest: prefaceSize}}
}

// Write implements net.Conn.
func (a *pingAcks) Write(b []byte) (n int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if rest := a.holdLocked(b); len(rest) > 0 {
		if n, err = a.Conn.Write(rest); err != nil {
			return n, err
		}
	}
	if a.due {
		a.sendLocked()
	}
	return len(b), nil
}

// holdLocked returns what is to be written without the answers, which are sent later. mu is held.
func (a *pingAcks) holdLocked(b []byte) (rest []byte) {
	rest = b
	found := false
	for at := 0; at < len(b); {
		if a.frames.isBetweenFrames() && beginsWithAck(b[at:]) && len(a.held) < maxHeldAcks*pingAckSize {
			if !found {
				found, rest = true, append(a.without[:0], b[:at]...)
			}
			if len(a.held) == 0 {
				time.AfterFunc(a.delay, a.send)
			}
			a.held = append(a.held, b[at:at+pingAckSize]...)
			at += pingAckSize
			continue
		}
		n := a.frames.advance(b[at:])
		if found {
			rest = append(rest, b[at:at+n]...)
		}
		at += n
	}
	if found {
		a.without = rest
	}
	return rest
}

func beginsWithAck(b []byte) bool {
	return len(b) >= pingAckSize && string(b[:len(pingAckHeader)]) == pingAckHeader
}

// send sends the answers that wait, unless a frame is being written.
func (a *pingAcks) send() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = true
	a.sendLocked()
}

// sendLocked is send with mu held.
func (a *pingAcks) sendLocked() {
	if !a.frames.isBetweenFrames() {
		return
	}
	write := func() { _, _ = a.Conn.Write(a.held) } // whoever reads the connection learns of an error
	if a.below != nil {
		a.below.sendUnanswered(write)
	} else {
		write()
	}
	a.held, a.due = a.held[:0], false
}

// framePosition follows a stream of HTTP/2 frames: a header of 9 bytes, which begins with the length of what comes
// after it.
type framePosition struct {
	header []byte // what there is of the header of a frame that has begun
	rest   int    // bytes of the frame that are still to come after its header
}

func (p *framePosition) isBetweenFrames() bool { return p.rest == 0 && len(p.header) == 0 }

// advance follows bytes to the end of a header, or of a frame, and returns how many that are.
func (p *framePosition) advance(b []byte) (n int) {
	if p.rest > 0 {
		n = min(p.rest, len(b))
		p.rest -= n
		return n
	}
	n = min(len(pingAckHeader)-len(p.header), len(b))
	p.header = append(p.header, b[:n]...)
	if len(p.header) == len(pingAckHeader) {
		p.rest = int(p.header[0])<<16 | int(p.header[1])<<8 | int(p.header[2])
		p.header = p.header[:0]
	}
	return n
}
