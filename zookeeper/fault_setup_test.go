package zookeeper_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// waitLimit is how long a test waits for what must happen, on a machine that may be busy.
const waitLimit = zookeeperserver.Patience

// endlessTimeout is a session timeout that never passes while a test runs, nor do the leases that it allows, however
// slow the machine is.
const endlessTimeout = 15 * time.Minute

// fastConfig makes servers detect failures soon, that of a follower after a second, and allow long sessions.
var fastConfig = zookeeperserver.Config{Tick: 100 * time.Millisecond, MaxSession: endlessTimeout}

// engineOn opens an engine with the given session timeout.
func engineOn(t *testing.T, timeout time.Duration, servers ...string) *zookeeper.Engine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	e, err := zookeeper.New(ctx, servers, zookeeper.WithSessionTimeout(timeout))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Logf("closing the engine: %v", err) // its server may be gone
		}
	})
	return e
}

// serverOf returns the server that the session of an engine is connected to.
func serverOf(t *testing.T, e *zookeeper.Engine, servers []*zookeeperserver.Server) *zookeeperserver.Server {
	t.Helper()
	id := zookeeper.SessionOf(e)
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		for _, s := range servers {
			all, err := s.Sessions()
			if err == nil && slices.ContainsFunc(all, func(x zookeeperserver.Session) bool { return x.ID == id }) {
				return s
			}
		}
		if time.Since(began) > waitLimit {
			t.Fatal("the engine is not connected")
		}
	}
}

// newRequest returns a request for a lock of the test, with the longest ttl and a new owner.
func newRequest(e *zookeeper.Engine, name string) driver.Request {
	return driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: name},
		Owner:  rand.Text(),
		Size:   1,
		Weight: 1,
		Tokens: 1,
		TTL:    e.Abilities().MaxTTL,
		Holder: "test",
	}
}

func holdOf(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

// within calls a function with a context that ends after limit, and fails the test if the call lasts much longer. It
// counts from when other goroutines see that the context has ended: the whole process may have been paused until then.
func within(t *testing.T, limit time.Duration, do func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	ended := make(chan time.Time, 1)
	running := context.AfterFunc(ctx, func() { ended <- time.Now() })
	err := do(ctx)
	if running() {
		return err
	}
	if late := time.Since(<-ended); late > 2*time.Second {
		t.Errorf("a request with a limit of %v took %v longer", limit, late)
	}
	return err
}

// take takes what must be free, and tries again while the outcome is unknown.
func take(t *testing.T, e *zookeeper.Engine, r driver.Request) (g driver.Grant) {
	t.Helper()
	attempt(t, "Take", func(ctx context.Context) (err error) {
		g, err = e.Take(ctx, r)
		return err
	})
	return g
}

// attempt repeats a request until it succeeds. It may be refused for a while after one of unknown outcome: that may
// have been sent in a session that has ended since, and its node stays until the servers notice.
func attempt(t *testing.T, what string, do func(ctx context.Context) error) {
	t.Helper()
	unknown := false
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := within(t, time.Second, do)
		switch {
		case err == nil:
			return
		case driver.IsNo(err) && !unknown, driver.IsPermanent(err):
			t.Fatalf("%s: %v", what, err)
		case time.Since(began) > waitLimit:
			t.Fatalf("%s fails for %v: %v", what, waitLimit, err)
		}
		unknown = unknown || !driver.IsNo(err)
	}
}

func renew(ctx context.Context, e *zookeeper.Engine, r driver.Request) (err error) {
	err = errors.New("not reported")
	e.Renew(ctx, []driver.Renewal{{Hold: holdOf(r), TTL: r.TTL}}, func(_ int, outcome error) { err = outcome })
	return err
}

func release(t *testing.T, e *zookeeper.Engine, r driver.Request) {
	t.Helper()
	attempt(t, "Release", func(ctx context.Context) error {
		err := e.Release(ctx, driver.Release{Hold: holdOf(r)})
		if errors.Is(err, driver.ErrNotHeld) { // the answer to an earlier request was lost
			return nil
		}
		return err
	})
}

// renewUntilKnown renews a lease until the engine knows whether it is held.
func renewUntilKnown(t *testing.T, e *zookeeper.Engine, r driver.Request) error {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := within(t, time.Second, func(ctx context.Context) error { return renew(ctx, e, r) })
		if err == nil || driver.IsNo(err) {
			return err
		}
		if time.Since(began) > waitLimit {
			t.Fatalf("Renew fails for %v: %v", waitLimit, err)
		}
	}
}

// awaitWaiting waits until that many wait for a name.
func awaitWaiting(t *testing.T, e *zookeeper.Engine, name string, n int) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var seen []driver.Status
		err := within(t, time.Second, func(ctx context.Context) (err error) {
			seen, err = e.List(ctx, driver.Query{Kind: driver.Lock, Name: name})
			return err
		})
		if err == nil && len(seen) == 1 && seen[0].Waiting == n {
			return
		}
		if time.Since(began) > waitLimit {
			t.Fatalf("%d do not wait: %+v, %v", n, seen, err)
		}
	}
}

// listName lists a name.
func listName(t *testing.T, e *zookeeper.Engine, name string) (seen []driver.Status) {
	t.Helper()
	attempt(t, "List", func(ctx context.Context) (err error) {
		seen, err = e.List(ctx, driver.Query{Kind: driver.Lock, Name: name})
		return err
	})
	return seen
}
