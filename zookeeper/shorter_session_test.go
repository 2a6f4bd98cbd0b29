package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// serverSwitch leads to servers under two addresses: "good:1", and "odd:1", where sessions get a shorter timeout.
type serverSwitch struct {
	good, odd, mute string
	less            time.Duration

	mu      sync.Mutex
	isMute  bool          // "good" sends nothing
	open    bool          // "odd" can be reached
	fork    bool          // "good" answers again once "odd" was reached
	visits  int           // how often that was
	limit   time.Duration // the time to reach "good" first after that
	current net.Conn
}

var errNoWay = errors.New("no way")

func (s *serverSwitch) dial(ctx context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	odd := address == "odd:1"
	addr := s.good
	switch {
	case odd && !s.open:
		return nil, errNoWay
	case odd:
		addr = s.odd
		s.visits++
		s.isMute = s.isMute && !s.fork
	case s.visits == 0 && s.isMute:
		return nil, errNoWay // to "odd" first
	case s.isMute:
		addr = s.mute
		if deadline, _ := ctx.Deadline(); s.limit == 0 {
			s.limit = time.Until(deadline)
		}
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil && odd {
		conn = &shortSessionConn{Conn: conn, less: s.less}
	}
	s.current = conn
	return conn, err
}

// cut ends the connection, and leads the client to "odd" next.
func (s *serverSwitch) cut(fork bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isMute, s.open, s.fork = true, true, fork
	_ = s.current.Close()
}

func (s *serverSwitch) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visits
}

// shortSessionConn asks for a shorter session than the client does, which has the same effect as a smaller limit of the
// server.
type shortSessionConn struct {
	net.Conn
	less time.Duration
	done bool
}

func (a *shortSessionConn) Write(b []byte) (int, error) {
	if !a.done {
		a.done = true
		binary.BigEndian.PutUint32(b[16:], uint32(a.less.Milliseconds()))
	}
	return a.Conn.Write(b)
}

// switchTo opens an engine on "good" that knows "odd", too.
func switchTo(t *testing.T, good, odd *zookeeperserver.Server, less time.Duration) (*Engine, *serverSwitch) {
	t.Helper()
	s := &serverSwitch{good: good.Addr(), odd: odd.Addr(), mute: silentAddress(t), less: less}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e, err := New(ctx, []string{"good:1", "odd:1"}, WithSessionTimeout(longSession), WithDialer(s.dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e, s
}

// A client that reaches a server that makes its session shorter continues to the next one, where the session has its
// whole timeout again: a holder is safe although it sends nothing any more.
func TestServerWithShorterSessionsIsSkipped(t *testing.T) {
	t.Parallel()
	const less = 6 * time.Second
	e, s := switchTo(t, server(t), server(t), less)
	other := openAt(t, server(t))
	r := lock(t, "a")
	r.TTL = e.Abilities().MaxTTL
	mustTake(t, e, r)
	session, lasts := e.client.current()
	pass := func() {
		before := s.connections()
		s.cut(true)
		eventually(
			t,
			"it is connected again",
			func() bool { return s.connections() > before && renewOne(t, e, r) == nil },
		)
		if now, still := e.client.current(); now != session || still != lasts {
			t.Fatalf("session %x lasts %v, and was %x for %v", now, still, session, lasts)
		}
	}
	pass()
	// Nothing is sent for longer than the shorter session would last: pings come every third of the long one.
	time.Sleep(less + time.Second)
	if _, err := other.Take(t.Context(), lock(t, "a")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("another one: %v, want that it is held", err)
	}
	pass() // as often as needed
}

// If there is no other server in time, the client continues with the shorter session, which has not ended meanwhile,
// and reports it.
func TestShorterSessionIsBetterThanNone(t *testing.T) {
	t.Parallel()
	const less = 2500 * time.Millisecond // a silent server has 3 s otherwise
	e, s := switchTo(t, server(t), server(t), less)
	r := lock(t, "a")
	mustTake(t, e, r)
	session, _ := e.client.current()
	s.cut(false)
	eventually(
		t,
		"it is told that the session is short",
		func() bool { return errors.Is(renewOne(t, e, r), errShorter) },
	)
	if now, _ := e.client.current(); now != session {
		t.Errorf("it is session %x, and was %x", now, session)
	}
	mustRelease(t, e, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.visits < 2 || s.limit == 0 || s.limit > less/8 {
		t.Errorf("it looked for another one for %v, and came back %d times", s.limit, s.visits-1)
	}
}

// Servers have their usual time for the handshake once the shorter session has ended in any case.
func TestUsualTimeoutsAfterTheShorterSession(t *testing.T) {
	t.Parallel()
	c := &client{servers: []string{"a:1", "b:1"}, session: 1, timeout: time.Minute}
	if !c.shouldSkipServer(&connection{session: 1, timeout: time.Second}) ||
		c.serverTimeout(time.Hour) != time.Second/8 {
		t.Errorf("it may take %v", c.serverTimeout(time.Hour))
	}
	c.shorter.endsAt = time.Now()
	if got := c.serverTimeout(time.Hour); got != time.Hour {
		t.Errorf("it may take %v afterwards", got)
	}
}
