package postgres

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// One whom nobody tells must come by every 3 s to keep its place, also while nothing is granted.
func TestPollingKeepsThePlaceWhileClosed(t *testing.T) {
	t.Parallel()
	w := &waiter{wake: make(chan struct{}, 1)}
	for _, no := range []answer{{opens: time.Minute}, {opens: time.Minute, ahead: 30}, {ahead: 30}} {
		w.refused(driver.Now(), no, true)
		if d := w.pause(); d > 2*time.Second {
			t.Errorf("after %+v it comes by in %v", no, d)
		}
	}
	w.refused(driver.Now(), answer{opens: 5 * time.Second}, false)
	if d := w.pause(); d < 4*time.Second {
		t.Errorf("one who is told looks after %v", d)
	}
}

// Whoever has heard the message of a grant has its ticket, and could send another one before the waiter has looked.
func TestFirstGrantCounts(t *testing.T) {
	t.Parallel()
	var all waiters
	all.init()
	w, _ := all.add("owner", driver.Key{Kind: driver.Lock, Name: "name"})
	w.asks(driver.Now())
	for _, token := range []uint64{64, 128} {
		w.given(gift{grant: driver.Grant{Token: token, Tokens: 1, TTL: time.Second}, at: time.Now()})
	}
	if g, _ := w.taken(); g == nil || g.grant.Token != 64 {
		t.Errorf("the grant is %+v, want that of the first message", g)
	}
}
