package etcd

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/leasehold-go/leasehold/internal/peer"
)

// connections holds the connections of the engine's own client, to find members that hang. A member that hangs keeps
// its connections and takes all that is sent. gRPC's pings would find it, but may not be sent more often than every ten
// seconds, and until then requests would go to the member again and again.
type connections struct {
	ackDelay time.Duration // of the answers to a server's pings
	checker  *peer.Checker // it finds out whether the members have TLS

	mu  sync.Mutex
	all map[*connection]struct{}
}

// connection is one network connection to a member.
type connection struct {
	net.Conn
	pool *connections

	// unansweredSince is when the first bytes were sent after the last answer, in nanoseconds since clockStart; 0 if
	// none were.
	unansweredSince atomic.Int64
}

// connectParams says how soon the client tries again to connect to a member, and how long each attempt may take. With
// gRPC's defaults, up to two minutes would pass after a long outage.
func connectParams(limit time.Duration) grpc.ConnectParams {
	return grpc.ConnectParams{
		Backoff: backoff.Config{
			BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second,
		},
		MinConnectTimeout: limit,
	}
}

// maxSilence is how long a connection may be silent before it is closed. It is long enough for the election of a new
// leader, during which a member may keep its clients waiting.
const maxSilence = 2500 * time.Millisecond

// clockStart gives times that do not change when the wall clock is set.
var clockStart = time.Now()

// dial connects to a member.
func (cs *connections) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, pool: cs}
	if cs.checker != nil {
		c.Conn = cs.checker.Check(conn, address)
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.all == nil {
		cs.all = make(map[*connection]struct{})
	}
	cs.all[c] = struct{}{}
	return c, nil
}

// closeSilent closes connections that hang, so that nothing is sent there until the member accepts a new one. It is
// called only when a request was not answered, since a connection may also be silent because nothing was asked.
func (cs *connections) closeSilent() {
	now := time.Since(clockStart)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.all {
		if c.isSilent(now) {
			_ = c.end() // its reader notices, and calls Close
		}
	}
}

// noteRequestEnd is called when a request has ended. If it was not answered in time, noteRequestEnd closes connections
// that hang.
func (cs *connections) noteRequestEnd(request context.Context) {
	if cs != nil && errors.Is(request.Err(), context.DeadlineExceeded) {
		cs.closeSilent()
	}
}

// Write implements net.Conn.
func (c *connection) Write(b []byte) (int, error) {
	c.unansweredSince.CompareAndSwap(0, int64(time.Since(clockStart))) // never 0, since connecting takes a while
	return c.Conn.Write(b)
}

// sendUnanswered calls send, which writes what the member does not answer. Nothing else is written meanwhile.
func (c *connection) sendUnanswered(send func()) {
	before := c.unansweredSince.Load()
	send()
	if before == 0 {
		c.unansweredSince.Store(0)
	}
}

// Read implements net.Conn.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.unansweredSince.Store(0)
	}
	return n, err
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.pool.mu.Lock()
	delete(c.pool.all, c)
	c.pool.mu.Unlock()
	return c.end()
}

// end closes a connection. If the connection hangs, end drops what the member has not received yet. Otherwise the
// system would try for minutes to send it, and a request that nobody waits for any more could take effect that late.
func (c *connection) end() error {
	if conn, ok := c.Conn.(*net.TCPConn); ok && c.isSilent(time.Since(clockStart)) {
		_ = conn.SetLinger(0)
	}
	return c.Conn.Close()
}

// isSilent reports whether the member has been silent for too long.
func (c *connection) isSilent(now time.Duration) bool {
	since := c.unansweredSince.Load()
	return since != 0 && now-time.Duration(since) >= maxSilence
}
