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

// testTimeout is how long a test waits for what must happen, even on a busy machine.
const testTimeout = time.Minute

// engineOn opens an engine of its own, as each program has, on some addresses.
func engineOn(t *testing.T, addresses ...string) *etcd.Engine {
	t.Helper()
	e, err := etcd.Open("etcd://" + strings.Join(addresses, ","))
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

// newRequest is a request for a lock by a new owner, with a ttl that is long enough on a busy machine.
func newRequest(name string) driver.Request {
	return driver.Request{
		Key: driver.Key{Kind: driver.Lock, Name: name}, Owner: rand.Text(), Size: 1, Weight: 1, TTL: 10 * time.Second,
		Tokens: 1, Holder: "test",
	}
}

func holdOf(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

// retryUnknown repeats a request as long as its outcome is unknown, as the core does.
func retryUnknown(t *testing.T, do func(context.Context) error) error {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := do(ctx)
		cancel()
		if err == nil || driver.IsNo(err) || time.Since(began) > testTimeout {
			return err
		}
	}
}

// mustTake takes a free lock.
func mustTake(t *testing.T, e *etcd.Engine, r driver.Request) (g driver.Grant) {
	t.Helper()
	must(t, retryUnknown(t, func(ctx context.Context) (err error) {
		g, err = e.Take(ctx, r)
		return err
	}))
	return g
}

// renewOnce renews one lease, once.
func renewOnce(ctx context.Context, e *etcd.Engine, r driver.Request) error {
	outcome := errors.New("nothing was reported")
	e.Renew(ctx, []driver.Renewal{{Hold: holdOf(r), TTL: r.TTL}}, func(_ int, err error) { outcome = err })
	return outcome
}

// mustRenew fails the test unless a renewal succeeds.
func mustRenew(t *testing.T, e *etcd.Engine, r driver.Request) {
	t.Helper()
	must(t, retryUnknown(t, func(ctx context.Context) error { return renewOnce(ctx, e, r) }))
}

// mustBeLost fails the test unless a renewal finds that the lock is not held.
func mustBeLost(t *testing.T, e *etcd.Engine, r driver.Request) {
	t.Helper()
	err := retryUnknown(t, func(ctx context.Context) error { return renewOnce(ctx, e, r) })
	if !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Renew: %v, want ErrNotHeld", err)
	}
}

// mustRelease releases what is held. The answer to the request that did it may have been lost.
func mustRelease(t *testing.T, e *etcd.Engine, r driver.Request) {
	t.Helper()
	release := driver.Release{Hold: holdOf(r)}
	err := retryUnknown(t, func(ctx context.Context) error { return e.Release(ctx, release) })
	if err != nil && !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release: %v", err)
	}
}

// waitingCall is a call that waits for a lock.
type waitingCall struct {
	t         *testing.T
	request   driver.Request
	done      chan struct{}
	grant     driver.Grant
	err       error
	grantedAt time.Time // when it returned
}

// joinQueue joins the queue of a held lock, and waits in the background.
func joinQueue(t *testing.T, e *etcd.Engine, r driver.Request) *waitingCall {
	t.Helper()
	r.Join = true
	err := retryUnknown(t, func(ctx context.Context) error { _, err := e.Take(ctx, r); return err })
	if !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take of what is held: %v, want ErrHeld", err)
	}
	w := &waitingCall{t: t, request: r, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(w.done)
		for { // the core also goes on after an error
			if w.grant, w.err = e.Wait(ctx, r); w.err == nil || ctx.Err() != nil {
				w.grantedAt = time.Now()
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

// mustWait fails the test if the wait has ended.
func (w *waitingCall) mustWait() {
	w.t.Helper()
	select {
	case <-w.done:
		w.t.Errorf("the wait has ended with token %d, %v", w.grant.Token, w.err)
	default:
	}
}

// mustBeGranted waits for the grant and returns its token, which must be larger than after.
func (w *waitingCall) mustBeGranted(after uint64) uint64 {
	w.t.Helper()
	select {
	case <-w.done:
	case <-time.After(testTimeout):
		w.t.Fatalf("no grant after %v", testTimeout)
	}
	if w.err != nil || w.grant.Token <= after {
		w.t.Fatalf("Wait: token %d, %v; want one above %d", w.grant.Token, w.err, after)
	}
	return w.grant.Token
}

// awaitQueue waits until a name has this many waiters.
func awaitQueue(t *testing.T, e *etcd.Engine, name string, want int) {
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
		if time.Since(began) > testTimeout {
			t.Fatalf("waited %v until %s", testTimeout, what)
		}
	}
}

// memberFaults are faults of a member, with what undoes them.
var memberFaults = map[string]func(*testing.T, *etcdserver.Server) (undo func()){
	"killed": func(t *testing.T, s *etcdserver.Server) func() {
		s.Kill()
		return func() { must(t, s.Restart()) }
	},
	"frozen": func(t *testing.T, s *etcdserver.Server) func() {
		must(t, s.Pause())
		return func() { must(t, s.Resume()) }
	},
}
