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
)

// wires are the connections of a client that is the engine's own, by which those members are found that hang. Such a member keeps its connections,
// and takes all that is sent. The pings of gRPC would tell, but may not be sent more often than each 10 s; until then every member's turn would come
// again and again.
type wires struct {
	mu  sync.Mutex
	all map[*wire]struct{}
}

// wire is a connection.
type wire struct {
	net.Conn
	of      *wires
	unheard atomic.Int64 // when something was sent first since the last that was heard, in nanoseconds since epoch; 0 if nothing was
}

// again says how soon a member is tried again that could not be reached, and how long each try may take. gRPC by itself would let up to two minutes
// pass after a long outage.
func again(limit time.Duration) grpc.ConnectParams {
	return grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
		MinConnectTimeout: limit,
	}
}

// silent is for how long a connection must have said nothing to be given up. A new leader has been elected by then, for whom a member may make its
// clients wait.
const silent = 2500 * time.Millisecond

// epoch makes readings of the clock that no setting of it changes.
var epoch = time.Now()

// dial connects to a member.
func (ws *wires) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn, of: ws}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all == nil {
		ws.all = make(map[*wire]struct{})
	}
	ws.all[w] = struct{}{}
	return w, nil
}

// giveUp closes connections that hang, so that nothing is sent there until the member answers a new one. Silence alone may be that nothing was asked,
// so it is for when a request has had no answer.
func (ws *wires) giveUp() {
	now := time.Since(epoch)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.all {
		if w.hangs(now) {
			_ = w.end() // its reader sees that, and closes it for good
		}
	}
}

// unanswered is called when a request is over. If it has had no answer in its time, connections that hang are given up.
func (ws *wires) unanswered(request context.Context) {
	if ws != nil && errors.Is(request.Err(), context.DeadlineExceeded) {
		ws.giveUp()
	}
}

// Write implements net.Conn.
func (w *wire) Write(b []byte) (int, error) {
	w.unheard.CompareAndSwap(0, int64(time.Since(epoch))) // it is never 0, as to connect takes a while
	return w.Conn.Write(b)
}

// Read implements net.Conn.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if n > 0 {
		w.unheard.Store(0)
	}
	return n, err
}

// Close implements net.Conn.
func (w *wire) Close() error {
	w.of.mu.Lock()
	delete(w.of.all, w)
	w.of.mu.Unlock()
	return w.end()
}

// end closes a connection. If it hangs, what the member has not taken yet is not sent any more, as the system would go on to try for minutes: nobody
// waits for it, and it is not to take effect that late.
func (w *wire) end() error {
	if conn, ok := w.Conn.(*net.TCPConn); ok && w.hangs(time.Since(epoch)) {
		_ = conn.SetLinger(0)
	}
	return w.Conn.Close()
}

// hangs reports whether the connection has said nothing for too long.
func (w *wire) hangs(now time.Duration) bool {
	since := w.unheard.Load()
	return since != 0 && now-time.Duration(since) >= silent
}
