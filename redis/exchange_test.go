package redis_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// An exchange whose first owner has lost its lease is a take like any other: what a server of a Cluster has lost is not
// granted before the guard allows it.
func TestExchangeAfterALossIsGuarded(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	next := lasting(m.held.Name, slotMaxTTL)
	if g, _, err := m.holder.Exchange(t.Context(), driver.Release{Hold: hold(m.held)}, next); err != nil {
		t.Fatalf("an exchange before the loss: %+v, %v", g, err)
	}
	command(t, m.from, "FLUSHALL")
	g, _, err := m.holder.Exchange(t.Context(), driver.Release{Hold: hold(next)}, lasting(next.Name, slotMaxTTL))
	if err == nil {
		t.Errorf("token %d was granted by a server that has lost everything", g.Token)
	}
}

// If the last token is ahead of the clock, an exchange grants the next one.
func TestExchangeBehindALaterToken(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	const later = 1 << 52
	command(t, s, "SET", "{lock:a}:token", "4503599627370496", "PX", "100000")
	r := lasting("a", time.Minute)
	mustTake(t, e, r)
	before := scriptCalls(t, s)
	for i := range 5 {
		next := lasting("a", time.Minute)
		g, released, err := e.Exchange(t.Context(), driver.Release{Hold: hold(r)}, next)
		if err != nil || released != nil || g.Token != later+2+uint64(i) || g.Tokens != 1 {
			t.Fatalf("exchange %d: %+v, %v, %v", i, g, released, err)
		}
		r = next
	}
	if n := scriptCalls(t, s) - before; n > 6 { // one may not be known to the server
		t.Errorf("%d scripts for 5 exchanges", n)
	}
	if st := status(t, e, r.Key); len(st.Holders) != 1 || st.Holders[0].Token != later+6 {
		t.Errorf("listed: %+v", st.Holders)
	}
	release(t, e, r)
}
