package redis

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A lease that a message grants counts from a moment that is certainly not after its start.
func TestGrantNeverStartsTooLate(t *testing.T) {
	t.Parallel()
	const second = 1000 // on the server's clock
	then := driver.Now().Add(-10 * time.Second)
	answered := func(w *waiter) { w.noteRefused(then, refusal{serverMillis: 100 * second}) }
	for name, c := range map[string]struct {
		before func(*waiter)
		at     int64
		start  time.Duration // after then; negative: the waiter must poll
	}{
		"after the answer":           {answered, 105 * second, 5*time.Second - 52*time.Millisecond},
		"right after the answer":     {answered, 100 * second, 0},
		"before the answer":          {answered, 99 * second, -1},
		"the server's clock was set": {answered, 120 * second, -1},
		"the connection broke":       {func(w *waiter) { answered(w); w.noteMessagesLost() }, 105 * second, -1},
		"answered since it broke":    {func(w *waiter) { w.noteMessagesLost(); answered(w) }, 105 * second, -1},
		"polled since it broke": {func(w *waiter) {
			w.noteMessagesLost()
			w.messagesLostAt = then.Add(-time.Second)
			answered(w)
		}, 105 * second, 5*time.Second - 52*time.Millisecond},
		"no answer yet": {func(w *waiter) { w.noteRequest(then) }, 105 * second, 0},
		"no answer, and asked again": {func(w *waiter) {
			w.noteRequest(then)
			w.noteRequest(then.Add(time.Second))
		}, 105 * second, 0},
		"answered, and asked again": {func(w *waiter) { answered(w); w.noteRequest(then.Add(time.Second)) },
			100 * second, 0},
		"an old answer came too late": {func(w *waiter) {
			w.noteRefused(then.Add(time.Second), refusal{serverMillis: 101 * second})
			answered(w)
		}, 100 * second, 0},
	} {
		w := &waiter{wake: make(chan struct{}, 1)}
		c.before(w)
		w.noteGranted(messageGrant{}, c.at, 0)
		switch got, rescheduled := w.whyWoken(); {
		case len(w.wake) == 0:
			t.Errorf("%s: the waiter was not woken", name)
		case c.start < 0 && (got != nil || rescheduled):
			t.Errorf("%s: got %+v, want a poll", name, got)
		case c.start >= 0 && (got == nil || got.grant.Start != then.Add(c.start)):
			t.Errorf("%s: got %+v, want a grant %v after the request", name, got, c.start)
		}
	}
}

// Anybody who may read the messages learns the ticket from that of a grant, and could send another message before the
// waiter has read the first.
func TestFirstGrantCounts(t *testing.T) {
	t.Parallel()
	w := &waiter{wake: make(chan struct{}, 1)}
	w.noteRequest(driver.Now())
	for _, token := range []uint64{64, 128} {
		w.noteGranted(messageGrant{grant: driver.Grant{Token: token, Tokens: 1, TTL: time.Second}}, 0, 0)
	}
	if g, _ := w.whyWoken(); g == nil || g.grant.Token != 64 {
		t.Errorf("the grant is %+v, want that of the first message", g)
	}
}

// A waiter that is told to poll later polls at once if its connection breaks, or if it is granted the lock: with
// WithReplicas, a grant counts only after a poll.
func TestPollsAtOnceAfterAHint(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(*waiter){
		"the connection broke": (*waiter).noteMessagesLost,
		"granted":              func(w *waiter) { w.noteGranted(messageGrant{}, 0, 0) },
	} {
		w := &waiter{wake: make(chan struct{}, 1)}
		w.notePollIn(time.Minute)
		then(w)
		if _, rescheduled := w.whyWoken(); rescheduled {
			t.Errorf("%s: the waiter does not poll", name)
		}
	}
}
