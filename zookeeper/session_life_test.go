package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// makeOld makes an engine believe that its connection is older than it is, by that part of the session timeout.
func makeOld(e *Engine, part float64) (before *connection) {
	e.client.mu.Lock()
	defer e.client.mu.Unlock()
	d := time.Duration(float64(e.client.timeout) * part)
	e.client.connection.began = e.client.connection.began.Add(-d)
	e.client.certainFrom = e.client.certainFrom.Add(-d)
	return e.client.connection
}

// currentState returns the connection, and how long the session is certain to last.
func currentState(e *Engine) (l *connection, sure time.Duration) {
	session, _ := e.client.current()
	return e.client.currentConnection(), e.client.certainRemaining(session, driver.Now())
}

// When the leader may have heard of the session too long ago for a lease, the client reconnects before it sends the
// request, once for all concurrent requests, and to the same server. Waiters continue, in the same session.
func TestOldConnectionIsReplacedBeforeALease(t *testing.T) {
	t.Parallel()
	var dials atomic.Int32
	e := openAt(t, server(t), WithDialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}))
	other := openAt(t, server(t))
	held, kept := lock(t, "held"), lock(t, "kept")
	g := mustTake(t, other, held)
	mustTake(t, e, kept)
	waits := waitFor(t.Context(), e, join(t, e, lock(t, "held")))
	node, _ := other.owned.find(ownerKey{held.Key, ownerID(held.Owner)})
	eventually(t, "it is watched", func() bool {
		_, armed := e.client.watchAt(node.path())
		return armed
	})
	session, most := e.client.current()
	for _, what := range []struct {
		name string
		ask  func(name string) error
	}{
		{"Renew", func(string) error { r := kept; r.TTL = most; return renewOne(t, e, r) }},
		{"Take", func(name string) error {
			r := lock(t, name)
			r.TTL = most
			_, err := e.Take(t.Context(), r)
			return err
		}},
	} {
		try := 0
		problem := lateness.Try(t, func() string { // on a late machine the new connection may be too old in its turn
			try++
			made := dials.Load()
			before, began := makeOld(e, 0.65), time.Now()
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					if err := what.ask(fmt.Sprint(what.name, try, i)); err != nil {
						t.Errorf("%s: %v", what.name, err)
					}
				})
			}
			all.Wait()
			if after, sure := currentState(e); after == before || sure < most {
				return fmt.Sprintf("a lease of %v is granted in a session that surely lasts for %v (another "+
					"connection: %v)", most, sure, after != before)
			}
			if n := dials.Load() - made; n != 1 {
				return fmt.Sprintf("it has connected %d times in %v, want once", n, time.Since(began))
			}
			return ""
		})
		if problem != "" {
			t.Errorf("%s: %s", what.name, problem)
		}
	}
	if is, _ := e.client.current(); is != session {
		t.Errorf("the session is %x, and was %x", is, session)
	}
	mustRelease(t, other, held)
	if w := <-waits; w.err != nil || w.grant.Token <= g.Token {
		t.Errorf("Wait: %+v, %v", w.grant, w.err)
	}
}

// Before the client reconnects, it waits for requests in flight. A request for a lease does not wait for that longer
// than its context lasts.
func TestLeaseEndsWithItsContextWhileTheConnectionIsLeft(t *testing.T) {
	t.Parallel()
	p := redisserver.ProxyForTest(t, server(t).Addr())
	e := openOn(t, p)
	_, most := e.client.current()
	held := lock(t, "held")
	held.TTL = most
	mustTake(t, e, held)
	for name, ask := range map[string]func(ctx context.Context) error{
		"Renew": func(ctx context.Context) error {
			err := errNoAnswer
			e.Renew(ctx, []driver.Renewal{{Hold: hold(held), TTL: most}}, func(_ int, is error) { err = is })
			return err
		},
		"Take": func(ctx context.Context) error {
			r := lock(t, "new")
			r.TTL = most
			_, err := e.Take(ctx, r)
			return err
		},
	} {
		draining := func() bool {
			e.client.mu.Lock()
			defer e.client.mu.Unlock()
			return e.client.draining
		}
		early := false
		for range 5 { // the machine may be too busy to notice: a silent server is not waited for without limit
			p.Freeze()
			old := makeOld(e, 0.65)
			other := make(chan struct{})
			go func() {
				defer close(other)
				_, _ = e.client.exists(context.Background(), e.prefix)
			}()
			eventually(t, "a request is in flight", func() bool { return len(e.client.inFlight) > 0 })
			ctx, cancel := context.WithCancel(t.Context())
			answer := make(chan error, 1)
			go func() { answer <- ask(ctx) }()
			eventually(t, "the connection is about to be left", func() bool {
				return draining() || e.client.currentConnection() != old
			})
			cancel()
			err := <-answer
			early = draining()
			if !errors.Is(err, context.Canceled) || driver.IsNo(err) {
				t.Errorf("%s: %v, want that its context has ended", name, err)
			}
			p.Thaw()
			<-other
			eventually(t, "there is another connection", func() bool {
				return e.client.isConnected() && e.client.currentConnection() != old
			})
			if early {
				break
			}
		}
		if !early {
			t.Errorf("%s answers when the connection has been left, and not when its context ends", name)
		}
	}
	if err := renewOne(t, e, held); err != nil {
		t.Errorf("Renew: %v", err)
	}
}

// A short lease needs no new connection.
func TestShortLeaseNeedsNoNewConnection(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	mustTake(t, e, lock(t, "a"))
	before := makeOld(e, 0.65)
	r := lock(t, "b")
	r.TTL = time.Second
	mustTake(t, e, r)
	if after, _ := currentState(e); after != before {
		t.Error("it has reconnected")
	}
}

// A server that accepts the client proves nothing yet, as its leader may have been replaced. A transaction that is
// answered on that connection does; one that is answered on another does not.
func TestConnectionCountsWithATransaction(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	mustTake(t, e, lock(t, "a"))
	before := makeOld(e, 0.9)
	_, most := e.client.current()
	if err := e.client.ensureSession(t.Context(), driver.Now(), most); err != nil {
		t.Fatal(err)
	}
	e.client.noteProof(before)
	if after, sure := currentState(e); after == before || sure >= most {
		t.Errorf("without a transaction the session surely lasts for %v (another connection: %v)",
			sure, after != before)
	}
	if err := e.client.syncWithMajority(t.Context(), e.prefix); err != nil {
		t.Fatal(err)
	}
	if _, sure := currentState(e); sure < most {
		t.Errorf("with a transaction the session surely lasts for %v, want %v", sure, most)
	}
}

// An entry that was named in a removal is never used again by its owner, since the removal may still arrive.
func TestReleasedNodeIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	held := lock(t, "a")
	mustTake(t, other, held)
	r := join(t, e, lock(t, "a"))
	key := ownerKey{r.Key, ownerID(r.Owner)}
	node, _ := e.owned.find(key)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.removeOwned(ended, node); err == nil {
		t.Fatal("it has left")
	}
	again := join(t, e, r)
	if is, _ := e.owned.find(key); is == nil || is.name == node.name {
		t.Fatalf("the entry is %+v, and %+v is about to go", is, node)
	}
	done := waitFor(t.Context(), e, again)
	mustRelease(t, other, held)
	w := <-done // once the first entry is gone, which is ensured
	if w.err != nil || w.grant.Token <= node.token {
		t.Fatalf("Wait: %+v, %v", w.grant, w.err)
	}
	if err := e.removeNode(t.Context(), node.parent, node.name, true); err == nil {
		t.Error("the first entry is still there")
	}
	if err := renewOne(t, e, again); err != nil {
		t.Errorf("Renew: %v", err)
	}
	mustRelease(t, e, again)
}
