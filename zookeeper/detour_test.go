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

// crossing is the way to servers under two addresses: "good:1", and "odd:1", where sessions are given a shorter time.
type crossing struct {
	good, odd, mute string
	less            time.Duration

	mu      sync.Mutex
	isMute  bool          // "good" says nothing
	open    bool          // "odd" can be reached
	fork    bool          // "good" speaks again once "odd" was reached
	visits  int           // how often that was
	limit   time.Duration // for reaching "good" the first time after that
	current net.Conn
}

var errNoWay = errors.New("no way")

func (x *crossing) dial(ctx context.Context, network, address string) (net.Conn, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	odd := address == "odd:1"
	addr := x.good
	switch {
	case odd && !x.open:
		return nil, errNoWay
	case odd:
		addr = x.odd
		x.visits++
		x.isMute = x.isMute && !x.fork
	case x.visits == 0 && x.isMute:
		return nil, errNoWay // to "odd" first
	case x.isMute:
		addr = x.mute
		if deadline, _ := ctx.Deadline(); x.limit == 0 {
			x.limit = time.Until(deadline)
		}
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil && odd {
		conn = &asking{Conn: conn, less: x.less}
	}
	x.current = conn
	return conn, err
}

// cut ends the connection, and leads the client to "odd" next.
func (x *crossing) cut(fork bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.isMute, x.open, x.fork = true, true, fork
	_ = x.current.Close()
}

func (x *crossing) been() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.visits
}

// asking asks for a shorter session than the client does, which has the effect that a smaller limit of the server has.
type asking struct {
	net.Conn
	less time.Duration
	done bool
}

func (a *asking) Write(b []byte) (int, error) {
	if !a.done {
		a.done = true
		binary.BigEndian.PutUint32(b[16:], uint32(a.less.Milliseconds()))
	}
	return a.Conn.Write(b)
}

// leadTo opens an engine on "good" that knows "odd", too.
func leadTo(t *testing.T, good, odd *zookeeperserver.Server, less time.Duration) (*Engine, *crossing) {
	t.Helper()
	x := &crossing{good: good.Addr(), odd: odd.Addr(), mute: mute(t), less: less}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e, err := New(ctx, []string{"good:1", "odd:1"}, WithSessionTimeout(longSession), WithDialer(x.dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e, x
}

// A client that comes to a server that makes its session shorter goes on to the next one, where the session has its whole time again: who holds is safe
// although it says nothing any more.
func TestAServerWithShorterSessionsIsPassedBy(t *testing.T) {
	t.Parallel()
	const less = 6 * time.Second
	e, x := leadTo(t, server(t), server(t), less)
	other := openAt(t, server(t))
	r := lock(t, "a")
	r.TTL = e.Abilities().MaxTTL
	mustTake(t, e, r)
	session, lasts := e.client.current()
	pass := func() {
		before := x.been()
		x.cut(true)
		eventually(t, "it is connected again", func() bool { return x.been() > before && renewOne(t, e, r) == nil })
		if now, still := e.client.current(); now != session || still != lasts {
			t.Fatalf("session %x lasts %v, and was %x for %v", now, still, session, lasts)
		}
	}
	pass()
	// Nothing is sent for longer than the shorter session would last: pings come each third of the long one.
	time.Sleep(less + time.Second)
	if _, err := other.Take(t.Context(), lock(t, "a")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("another one: %v, want that it is held", err)
	}
	pass() // as often as needed
}

// If there is no other server in time, it goes on with the shorter session, which has not ended meanwhile, and tells so.
func TestAShorterSessionIsBetterThanNone(t *testing.T) {
	t.Parallel()
	const less = 2500 * time.Millisecond // a server that is silent is given 3 s otherwise
	e, x := leadTo(t, server(t), server(t), less)
	r := lock(t, "a")
	mustTake(t, e, r)
	session, _ := e.client.current()
	x.cut(false)
	eventually(t, "it is told that the session is short", func() bool { return errors.Is(renewOne(t, e, r), errShorter) })
	if now, _ := e.client.current(); now != session {
		t.Errorf("it is session %x, and was %x", now, session)
	}
	mustRelease(t, e, r)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.visits < 2 || x.limit == 0 || x.limit > less/8 {
		t.Errorf("it looked for another one for %v, and came back %d times", x.limit, x.visits-1)
	}
}

// Servers have their usual time to let the client in when nothing is to be gained by haste any more.
func TestHasteEndsWithTheShorterSession(t *testing.T) {
	t.Parallel()
	c := &client{servers: []string{"a:1", "b:1"}, session: 1, timeout: time.Minute}
	if !c.passesBy(&line{session: 1, timeout: time.Second}) || c.patience(time.Hour) != time.Second/8 {
		t.Errorf("it may take %v", c.patience(time.Hour))
	}
	c.detour.over = time.Now()
	if got := c.patience(time.Hour); got != time.Hour {
		t.Errorf("it may take %v afterwards", got)
	}
}
