package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// patience is how long a test waits for what must happen on a busy machine.
const patience = time.Minute

// engineOn opens an engine on some addresses, as a program of its own has.
func engineOn(t *testing.T, addresses ...string) *etcd.Engine {
	t.Helper()
	e, err := etcd.Open("etcd://" + strings.Join(addresses, ","))
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

// asked is a request for a lock by a new owner, for long enough that no machine is too busy.
func asked(name string) driver.Request {
	return driver.Request{Key: driver.Key{Kind: driver.Lock, Name: name}, Owner: rand.Text(), Size: 1, Weight: 1, TTL: 10 * time.Second, Tokens: 1, Holder: "test"}
}

func holdOf(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

// insist repeats a request that may be repeated, for as long as its outcome is unknown, as the core does.
func insist(t *testing.T, do func(context.Context) error) error {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := do(ctx)
		cancel()
		if err == nil || driver.IsNo(err) || time.Since(began) > patience {
			return err
		}
	}
}

// taken takes a lock that is free.
func taken(t *testing.T, e *etcd.Engine, r driver.Request) (g driver.Grant) {
	t.Helper()
	must(t, insist(t, func(ctx context.Context) (err error) {
		g, err = e.Take(ctx, r)
		return err
	}))
	return g
}

// renew renews one lease, once.
func renew(ctx context.Context, e *etcd.Engine, r driver.Request) error {
	outcome := errors.New("nothing was reported")
	e.Renew(ctx, []driver.Renewal{{Hold: holdOf(r), TTL: r.TTL}}, func(_ int, err error) { outcome = err })
	return outcome
}

// stillHeld fails the test unless a renewal succeeds.
func stillHeld(t *testing.T, e *etcd.Engine, r driver.Request) {
	t.Helper()
	must(t, insist(t, func(ctx context.Context) error { return renew(ctx, e, r) }))
}

// lost fails the test unless a renewal is told that the lock is not held.
func lost(t *testing.T, e *etcd.Engine, r driver.Request) {
	t.Helper()
	if err := insist(t, func(ctx context.Context) error { return renew(ctx, e, r) }); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Renew: %v, want ErrNotHeld", err)
	}
}

// released releases what is held. The answer to the one that did it may have been lost.
func released(t *testing.T, e *etcd.Engine, r driver.Request) {
	t.Helper()
	if err := insist(t, func(ctx context.Context) error { return e.Release(ctx, driver.Release{Hold: holdOf(r)}) }); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release: %v", err)
	}
}

// waiting is one who waits for a lock.
type waiting struct {
	t       *testing.T
	request driver.Request
	done    chan struct{}
	grant   driver.Grant
	err     error
	at      time.Time // when it was told
}

// joined queues for a lock that is held.
func joined(t *testing.T, e *etcd.Engine, r driver.Request) *waiting {
	t.Helper()
	r.Join = true
	if err := insist(t, func(ctx context.Context) error { _, err := e.Take(ctx, r); return err }); !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take of what is held: %v, want ErrHeld", err)
	}
	w := &waiting{t: t, request: r, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(w.done)
		for { // the core, too, goes on after an error
			if w.grant, w.err = e.Wait(ctx, r); w.err == nil || ctx.Err() != nil {
				w.at = time.Now()
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-w.done
	})
	return w
}

// waits fails the test if the lock was granted.
func (w *waiting) waits() {
	w.t.Helper()
	select {
	case <-w.done:
		w.t.Errorf("the wait has ended with token %d, %v", w.grant.Token, w.err)
	default:
	}
}

// granted waits for the grant, which is a later one than that with some token.
func (w *waiting) granted(after uint64) uint64 {
	w.t.Helper()
	select {
	case <-w.done:
	case <-time.After(patience):
		w.t.Fatalf("no grant after %v", patience)
	}
	if w.err != nil || w.grant.Token <= after {
		w.t.Fatalf("Wait: token %d, %v; want one above %d", w.grant.Token, w.err, after)
	}
	return w.grant.Token
}

// queued waits until so many wait for a name.
func queued(t *testing.T, e *etcd.Engine, name string, want int) {
	t.Helper()
	eventually(t, "the queue is as long as it should be", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		all, err := e.List(ctx, driver.Query{Name: name})
		return err == nil && len(all) == 1 && all[0].Waiting == want
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("waited %v until %s", patience, what)
		}
	}
}

// kinds of ends of a server, with what undoes them.
var ends = map[string]func(*testing.T, *etcdserver.Server) (undo func()){
	"killed": func(t *testing.T, s *etcdserver.Server) func() {
		s.Kill()
		return func() { must(t, s.Restart()) }
	},
	"frozen": func(t *testing.T, s *etcdserver.Server) func() {
		must(t, s.Pause())
		return func() { must(t, s.Resume()) }
	},
}
