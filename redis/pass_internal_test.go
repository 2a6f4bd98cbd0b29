package redis

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// passMessage is what hand_over.lua tells a waiter with a ticket.
func passMessage(ticket, owner string) string {
	return fmt.Sprintf("p %s 7 1 2000 1500 1 40 %s", ticket, owner)
}

// A message that a name was passed may come after its waiter has given up. Then the quorum is told of it, once, and
// only if the message knows the whole ticket.
func TestPassThatComesTooLate(t *testing.T) {
	t.Parallel()
	e := &Engine{}
	var left []string
	e.waiters.init(func(w *waiter) { e.noteForgotten(w) })
	e.OnLeftGrant(func(k driver.Key, owner string) { left = append(left, k.Name+" "+owner) })
	w := e.waiters.add("owner", driver.Key{Kind: driver.Lock, Name: "a"})
	e.waiters.remove("owner")
	for _, ticket := range []string{"1", "1-0123456789abcdef", w.ticket, w.ticket} {
		e.onMessage(passMessage(ticket, "new"))
	}
	if len(left) != 1 || left[0] != "a new" {
		t.Errorf("the quorum is told of %q", left)
	}
	w = e.waiters.add("owner", w.key)
	e.waiters.remove("owner")
	e.onMessage("g " + w.ticket + " 7 1 2000 1500 1")
	e.onMessage(passMessage(w.ticket, "forged"))
	if len(left) != 1 {
		t.Errorf("by a ticket that all have seen, the quorum is told of %q", left[1:])
	}
}

// The message of a grant that does not count, as it is older than an answer, has shown the ticket to all who listen. So
// no later message says as which owner the waiter holds.
func TestOwnerThatAnybodyCouldMakeUp(t *testing.T) {
	t.Parallel()
	e := &Engine{}
	e.waiters.init(func(*waiter) {})
	w := e.waiters.add("owner", driver.Key{Kind: driver.Lock, Name: "a"})
	sent := driver.Now().Add(-100 * time.Millisecond)
	w.noteRequest(sent)
	w.noteRefused(sent, refusal{serverMillis: 1500})
	e.onMessage("g " + w.ticket + " 7 1 2000 1400 1")
	e.onMessage(passMessage(w.ticket, "forged"))
	if got, _ := w.whyWoken(); got != nil {
		t.Errorf("the waiter is told %+v", got.grant)
	}
}

// The lease of a name that was passed counts from so long before the message as that says. If the times of the server
// cannot be compared, the waiter is told as which owner it holds, but not since when.
func TestLeaseOfAPassedName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		serverMillis int64
		agreed       bool
	}{"compared": {1500, true}, "answered later": {1501, false}, "the clock was set": {500, false}} {
		e := &Engine{}
		e.waiters.init(func(*waiter) {})
		w := e.waiters.add("owner", driver.Key{Kind: driver.Lock, Name: "a"})
		sent := driver.Now().Add(-100 * time.Millisecond)
		w.noteRequest(sent)
		w.noteRefused(sent, refusal{serverMillis: c.serverMillis})
		e.onMessage(passMessage(w.ticket, "new") + "\x009 ~ab\x003000\x00the next")
		got, _ := w.whyWoken()
		if got == nil || got.grant.Owner != "new" || got.grant.Token != 7 || got.agreed != c.agreed {
			t.Fatalf("%s: the grant is %+v", name, got)
		}
		if early := sent.Since(got.grant.Start); c.agreed && early != 40*time.Millisecond {
			t.Errorf("%s: the lease counts from %v before the request, want 40ms", name, early)
		}
		if n := got.next; n == nil || n.Waiter != "9 ~ab" || n.TTL != 3*time.Second || n.Holder != "the next" ||
			n.ServerMillis != 1500 {
			t.Errorf("%s: behind it waits %+v", name, n)
		}
	}
}
