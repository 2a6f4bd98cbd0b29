package zookeeper_test

import (
	"errors"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// A session that expires takes everything that it held with it. Its engine reports that at the next renewal, and
// continues with another session.
func TestSessionOfHolderExpires(t *testing.T) {
	t.Parallel()
	s := zookeeper.SharedServer(t)
	a := engineOn(t, endlessTimeout, s.Addr()) // nobody but the test ends it
	b := engineOn(t, endlessTimeout, s.Addr())
	first, alone := newRequest(a, "holder expires"), newRequest(a, "holder expires, too")
	before := take(t, a, first)
	take(t, a, alone)
	next := queue(t, b, newRequest(b, "holder expires"))
	if err := s.EndSession(zookeeper.SessionOf(a)); err != nil {
		t.Fatal(err)
	}
	if g := next.granted(t); g.Token <= before.Token {
		t.Errorf("token %d follows %d", g.Token, before.Token)
	}
	for _, r := range []driver.Request{first, alone} {
		if err := renewUntilKnown(t, a, r); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("renewing what the session held: %v, want ErrNotHeld", err)
		}
	}
	// The same owner may take again: it has nothing any more.
	if g := take(t, a, alone); g.Token <= before.Token {
		t.Errorf("token %d follows %d", g.Token, before.Token)
	}
	if err := renewUntilKnown(t, a, alone); err != nil {
		t.Errorf("renewing what the new session holds: %v", err)
	}
	release(t, a, alone)
	release(t, b, next.request)
}

// Waiters join again when their session has expired.
func TestSessionOfWaiterExpires(t *testing.T) {
	t.Parallel()
	s := zookeeper.SharedServer(t)
	b := engineOn(t, endlessTimeout, s.Addr()) // nobody but the test ends it
	a := engineOn(t, endlessTimeout, s.Addr())
	held := newRequest(a, "waiter expires")
	g := take(t, a, held)
	next := queue(t, b, newRequest(b, "waiter expires"))
	if err := s.EndSession(zookeeper.SessionOf(b)); err != nil {
		t.Fatal(err)
	}
	awaitWaiting(t, a, "waiter expires", 1)
	next.checkWaits(t)
	release(t, a, held)
	if n := next.granted(t); n.Token <= g.Token {
		t.Errorf("token %d follows %d", n.Token, g.Token)
	}
	if err := renewUntilKnown(t, b, next.request); err != nil {
		t.Errorf("renewing what was granted: %v", err)
	}
	release(t, b, next.request)
}
