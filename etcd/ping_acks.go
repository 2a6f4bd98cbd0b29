package etcd

import (
	"net"
	"strings"
	"sync"
	"time"
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

// pingAcks delays the answers to a server's pings on a connection without TLS.
//
// A gRPC server sends a ping after each request, to measure how much fits into the connection, unless its last ping has
// no answer yet. It need not know that for requests as small as these, and each ping wakes both sides twice. With the
// delay there are at most twenty a second, and not one for each request.
type pingAcks struct {
	conn  net.Conn
	delay time.Duration // 0 if nothing is delayed

	mu     sync.Mutex
	frames framePosition
	held   []byte // answers that wait
	due    bool   // they are sent when the frame that is being written has ended
}

// init makes the answers on a connection, to which nothing was written yet, wait for delay.
func (a *pingAcks) init(conn net.Conn, delay time.Duration) {
	a.conn, a.delay, a.frames.rest = conn, delay, prefaceSize
}

// hold reports whether b is the answer to a ping, which it sends later.
func (a *pingAcks) hold(b []byte) bool {
	if len(b) != pingAckSize || !strings.HasPrefix(string(b), pingAckHeader) || a.delay == 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.frames.isBetweenFrames() || len(a.held) == maxHeldAcks*pingAckSize {
		return false
	}
	if len(a.held) == 0 {
		time.AfterFunc(a.delay, a.send)
	}
	a.held = append(a.held, b...)
	return true
}

// write writes to the connection.
func (a *pingAcks) write(b []byte) (n int, err error) {
	if a.delay == 0 {
		return a.conn.Write(b)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err = a.conn.Write(b)
	a.frames.advance(b[:n])
	if a.due {
		a.sendLocked()
	}
	return n, err
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
	_, _ = a.conn.Write(a.held) // whoever reads the connection learns of an error
	a.held, a.due = a.held[:0], false
}

// framePosition follows a stream of HTTP/2 frames: a header of 9 bytes, which begins with the length of what comes
// after it.
type framePosition struct {
	header []byte // what there is of the header of a frame that has begun
	rest   int    // bytes of the frame that are still to come after its header
}

func (p *framePosition) isBetweenFrames() bool { return p.rest == 0 && len(p.header) == 0 }

func (p *framePosition) advance(b []byte) {
	for len(b) > 0 {
		if p.rest > 0 {
			n := min(p.rest, len(b))
			p.rest, b = p.rest-n, b[n:]
			continue
		}
		n := min(len(pingAckHeader)-len(p.header), len(b))
		p.header, b = append(p.header, b[:n]...), b[n:]
		if len(p.header) == len(pingAckHeader) {
			p.rest = int(p.header[0])<<16 | int(p.header[1])<<8 | int(p.header[2])
			p.header = p.header[:0]
		}
	}
}
