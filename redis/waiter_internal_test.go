package redis

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A message of a grant is believed only as far as it is certain since when the lease runs.
func TestGrantCountsFromAMomentThatIsSurelyNotTooLate(t *testing.T) {
	t.Parallel()
	const second = 1000 // on the server's clock
	then := driver.Now().Add(-10 * time.Second)
	answered := func(w *waiter) { w.refused(then, refusal{server: 100 * second}) }
	for name, c := range map[string]struct {
		before func(*waiter)
		at     int64
		start  time.Duration // after then; negative: look
	}{
		"after the answer":            {answered, 105 * second, 5*time.Second - 52*time.Millisecond},
		"right after the answer":      {answered, 100 * second, 0},
		"before the answer":           {answered, 99 * second, -1},
		"the server's clock was set":  {answered, 120 * second, -1},
		"the connection broke":        {func(w *waiter) { answered(w); w.unheard() }, 105 * second, -1},
		"looked since it broke":       {func(w *waiter) { w.unheard(); answered(w) }, 105 * second, 5*time.Second - 52*time.Millisecond},
		"no answer yet":               {func(w *waiter) { w.asks(then) }, 105 * second, 0},
		"no answer, and asked again":  {func(w *waiter) { w.asks(then); w.asks(then.Add(time.Second)) }, 105 * second, 0},
		"answered, and asked again":   {func(w *waiter) { answered(w); w.asks(then.Add(time.Second)) }, 100 * second, 0},
		"an old answer came too late": {func(w *waiter) { w.refused(then.Add(time.Second), refusal{server: 101 * second}); answered(w) }, 100 * second, 0},
	} {
		w := &waiter{wake: make(chan struct{}, 1)}
		c.before(w)
		w.given(gift{}, c.at)
		switch got := w.taken(); {
		case len(w.wake) == 0:
			t.Errorf("%s: the waiter was not woken", name)
		case c.start < 0 && (got != nil || w.hinted()):
			t.Errorf("%s: got %+v, want a look", name, got)
		case c.start >= 0 && (got == nil || got.grant.Start != then.Add(c.start)):
			t.Errorf("%s: got %+v, want a grant %v after the request", name, got, c.start)
		}
	}
}

// A waiter that is told to look at another time looks at once if the connection breaks.
func TestBrokenConnectionOutdoesAHint(t *testing.T) {
	t.Parallel()
	w := &waiter{wake: make(chan struct{}, 1)}
	w.leads(time.Minute)
	w.unheard()
	if w.hinted() {
		t.Error("it does not look")
	}
}

// A look that was given up does not begin to listen after its waiter has left.
func TestWhoHasLeftDoesNotListen(t *testing.T) {
	t.Parallel()
	s := new(ears)
	s.init(nil, "", nil)
	w := &waiter{wake: make(chan struct{}, 1)}
	s.leave(w)
	if err := s.listen(context.Background(), w, "channel", nil, false); err != errDeaf || len(s.channels) > 0 {
		t.Errorf("listen: %v, with %d channels", err, len(s.channels))
	}
}
