package zookeeper

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// This file works around what the client leaves to be desired (github.com/go-zookeeper/zk v1.0.4, the best kept one for Go):
//
//   - It does not tell the timeout that the server has given the session: line reads it as it passes by.
//   - A write that fails while it logs in again is told twice through a channel for one, and everything stands still for ever: a line never
//     fails to write, it ends, and its reads say so.
//   - It waits for the answer to its first packet for ten times as long as for any other, which is minutes, and then for the rest of it for ever: a
//     line allows a few seconds. A server that is frozen would keep it from all others.
//   - It leaves the connection open on which it learns that its session has expired: dial closes the one before.
//   - It looks up the addresses of servers once and for all: hosts leaves them names, and they are looked up each time.
//   - It pauses for a second before it connects again to the only server that there is, and each time that all have been tried, as in an election:
//     hosts makes it pause only if no server can be reached.
//   - It knows no context, and its requests wait for a connection without a limit: see request.
//   - It never gives up a watch: a cancelled waiter would leave a channel behind each time. See spots.
//   - It reads each packet in two system calls: a line reads as much as there is.

const (
	dialLimit = 2 * time.Second
	// dialPause is the least time between two connections, for servers that take one and drop it at once; and roundPause is that after all servers
	// have been tried.
	dialPause, roundPause = 20 * time.Millisecond, 200 * time.Millisecond
	// sendBuffer is more than any packet of ours, and than what the client asks for when it sets its watches again.
	sendBuffer = 512 << 10
)

// line is a connection to a server, as the client uses it.
type line struct {
	net.Conn
	client *client
	in     *bufio.Reader
	origin time.Time
	heard  atomic.Int64 // when something was last read, since origin
	limit  time.Time    // of the handshake; zero when it is over. Of the goroutine that reads.
	hello  []byte       // the beginning of what the server says first
	asked  time.Time    // since when the server has not said anything, as far as somebody has missed it; guarded by the mu of the client

	// What that says.
	session int64
	timeout time.Duration

	began driver.Instant // before anything was sent
	sent  atomic.Int64   // how many packets; what was sent before an answer has happened before it
	gated bool           // requests wait until the watches are set; guarded by the mu of the client
}

// helloSize is how much of the server's first packet says all: its length, the protocol, the timeout and the session.
const helloSize = 4 + 4 + 4 + 8

// setWatches is what the kind of a packet of the client says that sets its watches again, behind its length and its number.
const setWatches = 101

func newLine(c *client, raw net.Conn, handshake time.Duration) *line {
	l := &line{Conn: raw, client: c, in: bufio.NewReader(raw), origin: time.Now(), limit: time.Now().Add(handshake), began: driver.Now()}
	_ = raw.SetDeadline(l.limit) // if the connection has failed, reading says so
	return l
}

// Read implements net.Conn. It fails if the server has made the session shorter, and the client is to go on to the next one.
func (l *line) Read(b []byte) (int, error) {
	n, err := l.in.Read(b)
	if n == 0 {
		return n, err
	}
	_ = l.sent.Load()
	l.heard.Store(int64(time.Since(l.origin)))
	if missing := helloSize - len(l.hello); missing > 0 {
		l.hello = append(l.hello, b[:min(n, missing)]...)
		if len(l.hello) == helloSize {
			l.timeout = time.Duration(binary.BigEndian.Uint32(l.hello[8:])) * time.Millisecond
			l.session = int64(binary.BigEndian.Uint64(l.hello[12:]))
			l.limit = time.Time{}
			if l.client.passesBy(l) {
				return 0, errShorter
			}
		}
	}
	return n, err
}

// Write implements net.Conn. It never fails.
func (l *line) Write(b []byte) (int, error) {
	l.sent.Add(1)
	if _, err := l.Conn.Write(b); err != nil {
		_ = l.Conn.Close() // whoever reads hears of it
	}
	if len(b) >= 12 && binary.BigEndian.Uint32(b[8:]) == setWatches {
		l.client.openGate(l)
	}
	return len(b), nil
}

// SetReadDeadline implements net.Conn. There is always a deadline.
func (l *line) SetReadDeadline(t time.Time) error {
	switch {
	case t.IsZero():
		return nil
	case !l.limit.IsZero() && t.After(l.limit):
		t = l.limit
	}
	return l.Conn.SetReadDeadline(t)
}

// silentSince reports whether nothing has been heard since a moment.
func (l *line) silentSince(t time.Time) bool { return l.heard.Load() < int64(t.Sub(l.origin)) }

// dial is the dialer of the client.
func (c *client) dial(network, address string, _ time.Duration) (net.Conn, error) {
	c.mu.Lock()
	last, wait := c.line, dialPause
	if c.pause {
		wait = roundPause
	}
	wait -= time.Since(c.dialed)
	c.line, c.pause, c.dialed = nil, false, time.Now().Add(max(wait, 0))
	c.mu.Unlock()
	if last != nil {
		_ = last.Conn.Close()
	}
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-c.life.Done():
		}
	}
	raw, err := c.open(network, address)
	if err != nil {
		c.failed(err)
		return nil, err
	}
	l := newLine(c, raw, c.patience(c.suspicion()))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line = l
	return l, nil
}

// open opens a connection, as the caller of New wants it.
func (c *client) open(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.life, c.patience(dialLimit))
	defer cancel()
	return c.dialer(ctx, network, address)
}

// hosts is which servers the client connects to, one after the other.
type hosts struct {
	client      *client
	servers     []string
	next, tried int
}

// Init implements zk.HostProvider.
func (h *hosts) Init(servers []string) error {
	h.servers = servers
	return nil
}

// Len implements zk.HostProvider.
func (h *hosts) Len() int { return len(h.servers) }

// Next implements zk.HostProvider. The client pauses for a second, and gives up what it has not sent, if no server can be reached.
func (h *hosts) Next() (server string, pause bool) {
	if h.client.toTheSame() {
		h.next = (h.next + len(h.servers) - 1) % len(h.servers)
	}
	server = h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	pause = h.tried > 0 && h.tried%len(h.servers) == 0 && h.client.roundOver()
	h.tried++
	return server, pause
}

// Connected implements zk.HostProvider.
func (h *hosts) Connected() { h.tried = 0 }

// toTheSame reports whether the client is to connect to the same server as before. It says so once.
func (c *client) toTheSame() (is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is, c.again = c.again, false
	return is
}

// failed notes why a server cannot be reached.
func (c *client) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unreached++
	c.why = err
}

// roundOver notes that no server has been of use, and reports whether none could be reached at all. Requests fail from then on until one can.
func (c *client) roundOver() (nobody bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pause, nobody = true, c.unreached >= len(c.servers)
	if nobody {
		c.down = fmt.Errorf("none of the servers %s can be reached: start them, or mend the addresses: %w", strings.Join(c.servers, ", "), c.why)
		c.stir()
	}
	c.unreached = 0
	return nobody
}

// connect starts the client.
func connect(servers []string, timeout time.Duration, event func(zk.Event), dial zk.Dialer, h *hosts) (*zk.Conn, <-chan zk.Event, error) {
	return zk.Connect(servers, timeout, zk.WithDialer(dial), zk.WithHostProvider(h), zk.WithEventCallback(event),
		zk.WithMaxConnBufferSize(sendBuffer), zk.WithLogInfo(false), zk.WithLogger(nowhere{}))
}

// nowhere is where the client logs to: a library prints nothing, and all that matters comes back as an error.
type nowhere struct{}

// Printf implements zk.Logger.
func (nowhere) Printf(string, ...any) {}

// request runs one request, and returns no later than ctx ends or the limit has passed. The request then goes on in a goroutine of its own, until it
// is answered or the connection ends; f may do something with a late answer. It returns the connection on which it was surely sent and answered, or nil.
//
// An error is one of the server's answers as it is, or explained.
func request[T any](ctx context.Context, c *client, f func(*zk.Conn) (T, error)) (value T, on *line, err error) {
	if err := c.ready(ctx); err != nil {
		return value, nil, err
	}
	type answer struct {
		value T
		on    *line
		err   error
	}
	began := time.Now()
	done := make(chan answer, 1)
	go func() {
		defer c.free()
		before := c.lineNow()
		v, err := f(c.conn)
		if c.lineNow() != before {
			before = nil
		}
		done <- answer{v, before, err}
	}()
	timer := time.NewTimer(min(c.limit, c.suspicion()))
	defer timer.Stop()
	for {
		select {
		case a := <-done:
			return a.value, a.on, c.explain(a.err)
		case <-ctx.Done():
			c.suspect(began)
			return value, nil, ctx.Err()
		case <-timer.C:
		}
		c.suspect(began)
		left := c.limit - time.Since(began)
		if left <= 0 {
			return value, nil, errNoAnswer
		}
		timer.Reset(left)
	}
}

// lineNow returns the connection that there is, or nil.
func (c *client) lineNow() *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line
}

// suspicion is for how long a server may be silent that was asked something, and how long it may take to let a client in. It leaves a session time
// for other servers.
func (c *client) suspicion() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silence()
}

// silence is suspicion when mu is held.
func (c *client) silence() time.Duration { return min(mostSilent, max(leastSilent, c.timeout/8)) }

const mostSilent, leastSilent = 3 * time.Second, 500 * time.Millisecond

// suspect ends the connection if the server has said nothing at all for that long since it was asked something, for which the caller does not wait
// any more: another one may answer, and the session goes on there. The client itself would wait for two thirds of the session.
func (c *client) suspect(asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.line
	if l == nil || !c.up || !l.silentSince(asked) {
		return
	}
	if l.asked.IsZero() || !l.silentSince(l.asked) {
		l.asked = asked
	}
	if time.Since(l.asked) >= c.silence() {
		_ = l.Conn.Close() // the client hears of it, and connects again
	}
}
