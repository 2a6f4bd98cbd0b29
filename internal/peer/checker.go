package peer

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Checker looks at the first answers on connections of one client. It is safe for concurrent use.
type Checker struct {
	explain func(k Kind, address string) error

	mu      sync.Mutex
	servers map[string]*server // by address
}

// server is what is known of one address.
type server struct {
	answers atomic.Bool // it has answered as it should, so it is never asked again

	mu      sync.Mutex // held while it is asked
	kinds   []Kind     // its last answers
	askedAt time.Time
}

// NewChecker returns a checker. explain returns why a server of a kind does not fit, or nil if it may fit.
func NewChecker(explain func(k Kind, address string) error) *Checker {
	return &Checker{explain: explain, servers: map[string]*server{}}
}

const (
	// patience is how long a server may leave the first request without an answer before it is asked what it is.
	patience = 250 * time.Millisecond
	// askAgainAfter is how long no server is asked a second time.
	askAgainAfter = 10 * time.Second
)

// Check returns a connection to an address, which fails with the explanation if the server is of a kind that does not
// fit. It looks at the first answer and, if there is none, asks the server what it is.
func (c *Checker) Check(conn net.Conn, address string) net.Conn {
	s := c.server(address)
	if s.answers.Load() {
		return conn
	}
	w := &checkedConn{Conn: conn, server: s, address: address, check: c.explain}
	w.timer = time.AfterFunc(patience, w.ask)
	if raw, is := conn.(syscall.Conn); is {
		return &checkedRawConn{w, raw}
	}
	return w
}

// server returns what is known of an address.
func (c *Checker) server(address string) *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[address]
	if s == nil {
		s = &server{}
		c.servers[address] = s
	}
	return s
}

// identify asks the server what it is, unless it was asked a short while ago.
func (s *server) identify(address string) []Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.answers.Load() && time.Since(s.askedAt) >= askAgainAfter {
		s.kinds = Identify(context.Background(), address)
		s.askedAt = time.Now()
	}
	return s.kinds
}

// checkedConn is a connection on which nothing has been answered yet.
type checkedConn struct {
	net.Conn
	server  *server
	address string
	check   func(k Kind, address string) error
	timer   *time.Timer

	answered bool // only for the goroutine that reads

	mu  sync.Mutex
	why error // the server does not fit
}

// Read implements net.Conn.
func (w *checkedConn) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	switch {
	case w.answered:
		return n, err
	case n > 0:
		w.answered = true
		w.timer.Stop()
		if why := w.explain(classify(b[:n])); why != nil {
			return 0, why
		}
		w.server.answers.Store(true)
		return n, err
	}
	if t, is := err.(net.Error); (!is || !t.Timeout()) && w.timer.Stop() {
		w.ask()
	}
	if why := w.Mismatch(); why != nil {
		return 0, why
	}
	return n, err
}

// ask asks the server what it is, and closes the connection if it does not fit.
func (w *checkedConn) ask() {
	if w.explain(w.server.identify(w.address)...) != nil {
		_ = w.Conn.Close()
	}
}

// explain notes and returns why a server of these kinds does not fit, or returns nil. One kind that fits is enough.
func (w *checkedConn) explain(kinds ...Kind) (why error) {
	for _, k := range slices.Backward(kinds) {
		if k == Unknown {
			return nil
		}
		if why = w.check(k, w.address); why == nil {
			return nil
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if why != nil {
		w.why = why
	}
	return why
}

// Mismatch returns why the server does not fit, or nil.
func (w *checkedConn) Mismatch() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why
}

// Close implements net.Conn.
func (w *checkedConn) Close() error {
	w.timer.Stop()
	return w.Conn.Close()
}

// checkedRawConn is a checkedConn whose socket can be looked at, as some clients do.
type checkedRawConn struct {
	*checkedConn
	raw syscall.Conn
}

// SyscallConn implements syscall.Conn.
func (w *checkedRawConn) SyscallConn() (syscall.RawConn, error) { return w.raw.SyscallConn() }
