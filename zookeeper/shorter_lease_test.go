package zookeeper

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// shortenSession makes the session of an engine as short as if it had moved to another server, until the returned
// function is called.
func shortenSession(e *Engine, timeout time.Duration) (back func()) {
	set := func(d time.Duration) (was time.Duration) {
		e.client.mu.Lock()
		defer e.client.mu.Unlock()
		was, e.client.timeout = e.client.timeout, d
		return was
	}
	was := set(timeout)
	return func() { set(was) }
}

// If the session becomes shorter than leases need, nobody is granted one, or told that it lasts longer: not a new
// owner, nor the holder, nor a waiter. Shorter leases are granted, and what is held can be released.
func TestShorterSessionsAreReported(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t), WithSessionTimeout(longSession))
	held, queued, free, brief := lock(t, "held"), lock(t, "held"), lock(t, "free"), lock(t, "brief")
	brief.TTL = 300 * time.Millisecond
	g := mustTake(t, e, held)
	queued = join(t, e, queued)
	back := shortenSession(e, 30*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for what, ask := range map[string]func() error{
		"Take":               func() error { _, err := e.Take(t.Context(), free); return err },
		"Take by the holder": func() error { _, err := e.Take(t.Context(), held); return err },
		"Wait":               func() error { _, err := e.Wait(ctx, queued); return err },
		"Renew":              func() error { return renewOne(t, e, held) },
	} {
		if err := ask(); !errors.Is(err, errShorter) || !driver.HadNoEffect(err) {
			t.Errorf("%s: %v, want that the session is too short", what, err)
		}
	}
	if all := nodes(t, e, free.Key); len(all) != 0 {
		t.Errorf("a refused Take has left %v", all)
	}
	mustTake(t, e, brief)
	mustRelease(t, e, brief)
	back()
	if again := mustTake(t, e, held); again.Token != g.Token {
		t.Errorf("the token is %d, and was %d", again.Token, g.Token)
	}
}

// A waiter whose session becomes shorter gets an error when its turn comes, and does not try for ever.
func TestWaiterIsToldOfAShorterSession(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t), WithSessionTimeout(longSession))
	other := openAt(t, server(t), WithSessionTimeout(longSession))
	held := lock(t, "a")
	mustTake(t, other, held)
	queued := join(t, e, lock(t, "a"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := waitFor(ctx, e, queued)
	node, _ := other.owned.find(ownerKey{held.Key, ownerID(held.Owner)})
	eventually(t, "it is watched", func() bool {
		_, armed := e.client.watchAt(node.path())
		return armed
	})
	shortenSession(e, 30*time.Second)
	mustRelease(t, other, held)
	select {
	case w := <-done:
		if w.err == nil || !strings.Contains(w.err.Error(), "open the engine again") {
			t.Errorf("Wait: %+v, %v", w.grant, w.err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Wait goes on")
	}
	if err := e.Release(t.Context(), driver.Release{Hold: hold(queued)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release of an entry: %v", err)
	}
	mustTake(t, other, lock(t, "a"))
}
