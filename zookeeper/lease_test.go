package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// nodes returns the entries of a name, in order.
func nodes(t testing.TB, e *Engine, k driver.Key) []queueEntry {
	t.Helper()
	entries, err := e.readQueue(context.Background(), k)
	if err != nil && !errors.Is(err, errGone) {
		t.Fatal(err)
	}
	return entries
}

// join queues a request that must be refused.
func join(t testing.TB, e *Engine, r driver.Request) driver.Request {
	t.Helper()
	r.Join = true
	if _, err := e.Take(t.Context(), r); !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take of what is held: %v", err)
	}
	return r
}

// outcome is what Wait has returned.
type outcome struct {
	grant driver.Grant
	err   error
	at    time.Time
}

func waitFor(ctx context.Context, e *Engine, r driver.Request) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		g, err := e.Wait(ctx, r)
		done <- outcome{g, err, time.Now()}
	}()
	return done
}

func renewOne(t testing.TB, e *Engine, r driver.Request) (outcome error) {
	t.Helper()
	outcome = errors.New("not reported")
	e.Renew(t.Context(), []driver.Renewal{{Hold: hold(r), TTL: r.TTL}}, func(_ int, err error) { outcome = err })
	return outcome
}

// The token is the number of the transaction that created the node, and those only grow.
func TestTokenIsTheTransaction(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r, next := lock(t, "a"), lock(t, "a")
	g := mustTake(t, e, r)
	queued := join(t, e, next)
	var czxids []uint64
	for _, entry := range nodes(t, e, r.Key) {
		stat, err := e.client.exists(t.Context(), e.nameNode(r.Key)+"/"+entry.name)
		if err != nil {
			t.Fatal(err)
		}
		czxids = append(czxids, uint64(stat.Czxid))
	}
	done := waitFor(t.Context(), e, queued)
	mustRelease(t, e, r)
	w := <-done
	if w.err != nil || len(czxids) != 2 || g.Token != czxids[0] || w.grant.Token != czxids[1] ||
		w.grant.Token <= g.Token {
		t.Errorf("the tokens are %d and %d (%v), the transactions %d", g.Token, w.grant.Token, w.err, czxids)
	}
	mustRelease(t, e, queued)
	if last := mustTake(t, e, lock(t, "a")); last.Token <= w.grant.Token {
		t.Errorf("token %d follows %d, as the node of the name is a new one", last.Token, w.grant.Token)
	}
}

// A free name takes two transactions, one to take and one to release, and leaves nothing behind.
func TestFreeNameTakesTwoTransactions(t *testing.T) {
	t.Parallel()
	e := openAt(t, ownServer(t))
	mustTake(t, e, lock(t, "first")) // creates the nodes above
	stat, err := e.client.set(t.Context(), e.kindNode(driver.Lock), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := lock(t, "a")
	mustTake(t, e, r)
	mustRelease(t, e, r)
	after, err := e.client.set(t.Context(), e.kindNode(driver.Lock), nil)
	if err != nil || after.Mzxid-stat.Mzxid != 3 {
		t.Errorf("there were %d transactions, %v, want two and this one", after.Mzxid-stat.Mzxid, err)
	}
	if there, err := e.client.exists(t.Context(), e.nameNode(r.Key)); err != nil || there != nil {
		t.Errorf("the node of the name is left: %v", err)
	}
}

// A lease that is not renewed expires, although the session continues. Its own process removes it from the queue.
func TestLeaseEndsBeforeItsSession(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	brief, long := lock(t, "a"), lock(t, "b")
	brief.TTL = 300 * time.Millisecond
	start := time.Now()
	mustTake(t, e, brief)
	mustTake(t, e, long)
	w := <-waitFor(t.Context(), other, lock(t, "a"))
	if lasted := time.Since(start); w.err != nil || lasted < brief.TTL {
		t.Errorf("another holds after %v: %v", lasted, w.err)
	}
	if err := renewOne(t, e, brief); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Renew of a lease that has ended: %v", err)
	}
	if err := renewOne(t, e, long); err != nil {
		t.Errorf("Renew of another: %v", err)
	}
}

// An entry whose waiter is gone does not block others for ever.
func TestForgottenWaiterIsRemoved(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, e, r)
	queued := join(t, e, lock(t, "a"))
	node, _ := e.owned.find(ownerKey{queued.Key, ownerID(queued.Owner)})
	if left := time.Until(node.end); left > 40*time.Second || left < 20*time.Second {
		t.Errorf("it stays for another %v", left)
	}
	e.scheduleRemoval(node) // as if its time were over
	eventually(t, "the entry is gone", func() bool { return len(nodes(t, e, r.Key)) == 1 })
}

// A kept lock outlives the process that has kept it, for at least as long as requested and not much longer.
func TestKeptLockOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	const keep = time.Second
	s := server(t)
	e, other := openAt(t, s), openAt(t, s)
	var checks []func()
	for _, c := range []struct {
		name  string
		taker func(name string) driver.Request
	}{
		{"waiter", func(name string) driver.Request { return lock(t, name) }},
		{"reader", func(name string) driver.Request { r := lock(t, name); r.Mode = driver.Shared; return r }},
		{"permits", func(name string) driver.Request { r := lock(t, name); r.Kind = driver.Semaphore; return r }},
	} {
		held := c.taker(c.name)
		held.Mode = driver.Exclusive
		g := mustTake(t, e, held)
		waits := waitFor(t.Context(), other, join(t, other, c.taker(c.name)))
		kept := time.Now()
		if err := e.Release(t.Context(), driver.Release{Hold: hold(held), Keep: keep}); err != nil {
			t.Fatal(err)
		}
		checks = append(checks, func() {
			w := <-waits // however late it starts to watch
			passed := w.at.Sub(kept)
			if w.err != nil || w.grant.Token <= g.Token || passed < keep || passed > keep+pollInterval/2 {
				t.Errorf("%s: after %v another holds: %+v, %v", c.name, passed, w.grant, w.err)
			}
		})
	}
	alone := lock(t, "nobody waits")
	mustTake(t, e, alone)
	start := time.Now()
	if err := e.Release(t.Context(), driver.Release{Hold: hold(alone), Keep: keep}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is free", func() bool {
		_, err := other.Take(t.Context(), lock(t, "nobody waits"))
		if err != nil && !errors.Is(err, driver.ErrHeld) {
			t.Fatal(err)
		}
		return err == nil
	})
	lasted := time.Since(start)
	for _, check := range checks {
		check()
	}
	if lasted < keep || lasted > keep+pollInterval/2 {
		t.Errorf("it was kept for %v more", lasted)
	}
}

// The next waiter does not mistake a kept lock for a free one: the node that it watches changes before it goes.
func TestKeptLockIsNotInherited(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	for i := range 5 {
		r := lock(t, fmt.Sprint(i))
		mustTake(t, e, r)
		ctx, cancel := context.WithCancel(t.Context())
		done := waitFor(ctx, other, join(t, other, lock(t, fmt.Sprint(i))))
		held, _ := e.owned.find(ownerKey{r.Key, ownerID(r.Owner)})
		eventually(t, "it is watched", func() bool {
			_, armed := other.client.watchAt(held.path())
			return armed
		})
		if err := e.Release(t.Context(), driver.Release{Hold: hold(r), Keep: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Take(t.Context(), lock(t, fmt.Sprint(i))); !errors.Is(err, driver.ErrHeld) {
			t.Errorf("Take of a kept lock: %v", err)
		}
		time.Sleep(10 * time.Millisecond) // for the event to arrive
		cancel()
		if w := <-done; w.err == nil {
			t.Error("Wait was granted a kept lock")
		}
	}
}

// Nodes of names that nobody uses any more are removed, even if the last to leave believed that others were there.
func TestEmptyNodesAreRemoved(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, e, r)
	queued := join(t, e, lock(t, "a"))
	node, _ := e.owned.find(ownerKey{r.Key, ownerID(r.Owner)})
	e.owned.mu.Lock()
	node.sawOthers = true
	e.owned.mu.Unlock()
	if err := e.Release(t.Context(), driver.Release{Hold: hold(queued)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Error(err)
	}
	mustRelease(t, e, r)
	eventually(t, "the node of the name is gone", func() bool {
		stat, err := e.client.exists(t.Context(), e.nameNode(r.Key))
		return err == nil && stat == nil
	})
}
