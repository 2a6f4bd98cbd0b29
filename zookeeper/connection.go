package zookeeper

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// This file works around shortcomings of the client library, github.com/go-zookeeper/zk v1.0.4:
//
//   - It does not report the session timeout that the server has granted: connection reads it from the server's first
//     packet.
//   - If a write fails while it logs in again, it reports that twice on a channel with room for one, and blocks for
//     ever: a connection never fails to write. It closes instead, and its reads fail.
//   - It waits for the answer to its first packet ten times as long as for any other, which is minutes, and then for
//     the rest of that answer without limit: a connection allows a few seconds. Otherwise a frozen server would keep
//     the library from trying the others.
//   - It leaves a connection open when it learns on it that its session has expired: dial closes the previous one.
//   - It resolves the addresses of servers once: hosts leaves them as names, which are resolved on each dial.
//   - It pauses for a second before it reconnects to an only server, and each time that all servers have been tried,
//     as during an election: hosts makes it pause only if no server can be reached.
//   - It takes no context, and its requests wait for a connection without limit: see request.
//   - It never removes a watch, so each cancelled waiter would leave a channel behind: see watches.go.
//   - It reads each packet in two system calls: a connection reads as much as there is.
//   - It trusts servers with the program's memory and life: see packets.go.

const (
	dialTimeout = 2 * time.Second
	// dialPause is the shortest time between two dials, for servers that accept a connection and drop it at once.
	// roundPause is the same after all servers have been tried.
	dialPause, roundPause = 20 * time.Millisecond, 200 * time.Millisecond
	// sendBuffer is larger than any packet of ours, and than what the library sends to set its watches again.
	sendBuffer = 512 << 10
)

// connection is a network connection to a server, as the library uses it.
type connection struct {
	net.Conn
	client            *client
	in                packets
	start             time.Time
	lastRead          atomic.Int64 // when something was last read, as time since start
	handshakeDeadline time.Time    // zero when the handshake is over; only for the goroutine that reads
	serverHello       []byte       // the beginning of the server's first packet
	// since when a request was sent and nothing read, if anybody missed an answer; guarded by client.mu
	unansweredSince time.Time

	// What serverHello says.
	session int64
	timeout time.Duration

	began         driver.Instant // before anything was sent
	sent          atomic.Int64   // packets; atomic, so that what was sent happens before what is read
	awaitsWatches bool           // requests wait until the watches are set again; guarded by client.mu
}

// helloSize is the size of the useful part of the server's first packet: length, protocol, timeout and session.
const helloSize = 4 + 4 + 4 + 8

// opSetWatches is the type of the packet with which the library sets its watches again. It follows the length and the
// number of the packet.
const opSetWatches = 101

func newConnection(c *client, raw net.Conn, handshake time.Duration) *connection {
	cn := &connection{
		Conn:              raw,
		client:            c,
		start:             time.Now(),
		handshakeDeadline: time.Now().Add(handshake),
		began:             driver.Now(),
	}
	cn.in.in = bufio.NewReader(arrivals{cn})
	_ = raw.SetDeadline(cn.handshakeDeadline) // if the connection has failed, reading reports it
	return cn
}

// Read implements net.Conn. It fails if this server has made the session shorter and the client should try the next
// one.
func (cn *connection) Read(b []byte) (int, error) {
	n, err := cn.in.Read(b)
	if n == 0 {
		if wrong, is := errors.AsType[mismatchError](err); is {
			cn.client.noteUnreachable(wrong) // the library drops it
		}
		return n, err
	}
	_ = cn.sent.Load()
	if missing := helloSize - len(cn.serverHello); missing > 0 {
		cn.serverHello = append(cn.serverHello, b[:min(n, missing)]...)
		if len(cn.serverHello) == helloSize {
			cn.timeout = time.Duration(binary.BigEndian.Uint32(cn.serverHello[8:])) * time.Millisecond
			cn.session = int64(binary.BigEndian.Uint64(cn.serverHello[12:]))
			cn.handshakeDeadline = time.Time{}
			if cn.client.shouldSkipServer(cn) {
				return 0, errShorter
			}
		}
	}
	return n, err
}

// arrivals notes when something arrives on a connection.
type arrivals struct{ *connection }

// Read implements io.Reader.
func (a arrivals) Read(b []byte) (int, error) {
	n, err := a.Conn.Read(b)
	if n > 0 {
		a.lastRead.Store(int64(time.Since(a.start)))
	}
	return n, err
}

// Write implements net.Conn. It never fails.
func (cn *connection) Write(b []byte) (int, error) {
	cn.sent.Add(1)
	cn.in.noteRequest(b)
	if _, err := cn.Conn.Write(b); err != nil {
		_ = cn.Conn.Close() // the reader gets an error
	}
	if len(b) >= 12 && binary.BigEndian.Uint32(b[8:]) == opSetWatches {
		cn.client.admitRequests(cn)
	}
	return len(b), nil
}

// SetReadDeadline implements net.Conn. During the handshake the deadline is never later than the handshake's. Deadlines
// are not removed.
func (cn *connection) SetReadDeadline(t time.Time) error {
	switch {
	case t.IsZero():
		return nil
	case !cn.handshakeDeadline.IsZero() && t.After(cn.handshakeDeadline):
		t = cn.handshakeDeadline
	}
	return cn.Conn.SetReadDeadline(t)
}

// silentSince reports whether nothing has been read since t.
func (cn *connection) silentSince(t time.Time) bool {
	return cn.lastRead.Load() < int64(t.Sub(cn.start))
}

// dial is the dialer that the library uses.
func (c *client) dial(network, address string, _ time.Duration) (net.Conn, error) {
	c.mu.Lock()
	last, wait := c.connection, dialPause
	if c.roundOver {
		wait = roundPause
	}
	wait -= time.Since(c.dialedAt)
	c.connection, c.roundOver, c.dialedAt = nil, false, time.Now().Add(max(wait, 0))
	c.mu.Unlock()
	if last != nil {
		_ = last.Conn.Close()
	}
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-c.ctx.Done():
		}
	}
	raw, err := c.open(network, address)
	if err != nil {
		c.noteUnreachable(err)
		return nil, err
	}
	cn := newConnection(c, raw, c.serverTimeout(c.silenceLimit()))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connection = cn
	return cn, nil
}

// open dials a server with the dialer that the caller of New has given.
func (c *client) open(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.serverTimeout(dialTimeout))
	defer cancel()
	return c.dialer(ctx, network, address)
}

// hosts tells the library which server to connect to next.
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

// Next implements zk.HostProvider. With pause, the library pauses for a second and fails requests that it has not sent;
// that is so only if no server can be reached.
func (h *hosts) Next() (server string, pause bool) {
	if h.client.takeReconnectToSame() {
		h.next = (h.next + len(h.servers) - 1) % len(h.servers)
	}
	server = h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	pause = h.tried > 0 && h.tried%len(h.servers) == 0 && h.client.finishRound()
	h.tried++
	return server, pause
}

// Connected implements zk.HostProvider.
func (h *hosts) Connected() { h.tried = 0 }

// takeReconnectToSame reports whether the client is to reconnect to the same server as before. It clears that request.
func (c *client) takeReconnectToSame() (is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is, c.reconnectToSame = c.reconnectToSame, false
	return is
}

// noteUnreachable notes why a server cannot be reached.
func (c *client) noteUnreachable(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unreached++
	c.lastDialErr = err
}

// finishRound notes that all servers have been tried without success. It reports whether none of them could even be
// reached; requests then fail until one can.
func (c *client) finishRound() (nobody bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roundOver, nobody = true, c.unreached >= len(c.servers)
	if nobody {
		c.unreachable = fmt.Errorf("none of the servers %s can be reached: start them, or fix the addresses: %w",
			strings.Join(c.servers, ", "), c.lastDialErr)
		c.wakeLocked()
	}
	c.unreached = 0
	return nobody
}

// connect starts the library's client.
func connect(
	servers []string, timeout time.Duration, event func(zk.Event), dial zk.Dialer, h *hosts,
) (*zk.Conn, <-chan zk.Event, error) {
	return zk.Connect(servers, timeout, zk.WithDialer(dial), zk.WithHostProvider(h), zk.WithEventCallback(event),
		zk.WithMaxConnBufferSize(sendBuffer), zk.WithLogInfo(false), zk.WithLogger(discardLogger{}))
}

// discardLogger discards the library's log: everything that matters comes back as an error.
type discardLogger struct{}

// Printf implements zk.Logger.
func (discardLogger) Printf(string, ...any) {}

// request runs f, and returns no later than ctx ends or the request timeout has passed. If that is earlier than the
// answer, f goes on in a goroutine of its own until it is answered or the connection ends, so f can handle a late
// answer itself. The result on is the connection on which f was certainly sent and answered, or nil.
//
// An error is one of the server's answers unchanged, or comes from explain.
func request[T any](ctx context.Context, c *client, f func(*zk.Conn) (T, error)) (value T, on *connection, err error) {
	if err := c.beginRequest(ctx); err != nil {
		return value, nil, err
	}
	type answer struct {
		value T
		on    *connection
		err   error
	}
	began := time.Now()
	done := make(chan answer, 1)
	go func() {
		defer c.endRequest()
		before := c.currentConnection()
		v, err := f(c.conn)
		if c.currentConnection() != before {
			before = nil
		}
		done <- answer{v, before, err}
	}()
	timer := time.NewTimer(min(c.requestTimeout, c.silenceLimit()))
	defer timer.Stop()
	for {
		select {
		case a := <-done:
			return a.value, a.on, c.explain(a.err)
		case <-ctx.Done():
			c.closeIfSilent(began)
			return value, nil, ctx.Err()
		case <-timer.C:
		}
		c.closeIfSilent(began)
		left := c.requestTimeout - time.Since(began)
		if left <= 0 {
			return value, nil, errNoAnswer
		}
		timer.Reset(left)
	}
}

// currentConnection returns the connection, or nil.
func (c *client) currentConnection() *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connection
}

// silenceLimit returns how long a server may leave a request without any answer, and how long it may take for the
// handshake. It leaves the session enough time to try other servers.
func (c *client) silenceLimit() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silenceLimitLocked()
}

// silenceLimitLocked is silenceLimit for callers that hold mu.
func (c *client) silenceLimitLocked() time.Duration {
	return min(maxSilence, max(minSilence, c.timeout/8))
}

const maxSilence, minSilence = 3 * time.Second, 500 * time.Millisecond

// closeIfSilent closes the connection if the server has sent nothing at all for silenceLimit since a request whose
// caller does not wait any more was sent at asked. Another server may answer, and the session continues there. The
// library itself would wait for two thirds of the session timeout.
func (c *client) closeIfSilent(asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cn := c.connection
	if cn == nil || !c.isUp || !cn.silentSince(asked) {
		return
	}
	if cn.unansweredSince.IsZero() || !cn.silentSince(cn.unansweredSince) {
		cn.unansweredSince = asked
	}
	if time.Since(cn.unansweredSince) >= c.silenceLimitLocked() {
		_ = cn.Conn.Close() // the library notices, and reconnects
	}
}
