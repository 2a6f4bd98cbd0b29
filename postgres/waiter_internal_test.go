package postgres

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A waiter that gets no messages must poll every 3 s to keep its place, even while the crash guard is closed.
func TestPollingKeepsThePlaceWhileClosed(t *testing.T) {
	t.Parallel()
	w := &waiter{wake: make(chan struct{}, 1)}
	for _, no := range []answer{{closedFor: time.Minute}, {closedFor: time.Minute, waitersAhead: 30},
		{waitersAhead: 30}} {
		w.noteRefused(driver.Now(), no, true)
		if d := w.pollPause(); d > 2*time.Second {
			t.Errorf("after %+v it polls in %v", no, d)
		}
	}
	w.noteRefused(driver.Now(), answer{closedFor: 5 * time.Second}, false)
	if d := w.pollPause(); d < 4*time.Second {
		t.Errorf("a waiter with notifications polls after %v", d)
	}
}

// A release does not tell a waiter that it has become the head of the queue if it has joined less than two seconds ago:
// such a waiter polls soon.
func TestFirstPollOfAQueuedWaiter(t *testing.T) {
	t.Parallel()
	w := &waiter{wake: make(chan struct{}, 1)}
	far := answer{holderEndsIn: time.Minute, isEndKnown: true, waitersAhead: 3}
	w.noteRefused(driver.Now(), far, false)
	if d := w.pollPause(); d > 2*time.Second {
		t.Errorf("it first polls after %v", d)
	}
	w.noteRefused(driver.Now(), far, false)
	if d := w.pollPause(); d < 5*time.Second {
		t.Errorf("it polls again after %v, although it is told if anything changes", d)
	}
}

// Anybody who has seen the message of a grant has its ticket, and could send another message before the waiter has read
// the first.
func TestFirstGrantCounts(t *testing.T) {
	t.Parallel()
	var all waiters
	all.init()
	w, _ := all.add("owner", driver.Key{Kind: driver.Lock, Name: "name"})
	w.noteRequest(driver.Now())
	for _, token := range []uint64{64, 128} {
		w.noteGranted(messageGrant{grant: driver.Grant{Token: token, Tokens: 1, TTL: time.Second},
			serverTime: time.Now()})
	}
	if g, _ := w.takeGrant(); g == nil || g.grant.Token != 64 {
		t.Errorf("the grant is %+v, want that of the first message", g)
	}
}
