package quorum

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// heldBack is requests that a test lets go when it likes: they are under way for however long.
type heldBack struct {
	mu    sync.Mutex
	count int
	gate  chan struct{}
}

func newHeldBack() *heldBack { return &heldBack{gate: make(chan struct{})} }

func (h *heldBack) hold() fate {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	return fate{until: h.gate}
}

// letGo lets them all arrive, and returns how many there were.
func (h *heldBack) letGo() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.gate)
	n := h.count
	h.count, h.gate = 0, make(chan struct{})
	return n
}

// nameWithArbiter is a name whose waiters queue on a place.
func nameWithArbiter(e *Engine, place int) driver.Key {
	for i := 0; ; i++ {
		k := driver.Key{Kind: driver.Lock, Name: fmt.Sprint("name ", i)}
		if e.arbiters(k)[0].index == place {
			return k
		}
	}
}

// cutOff is a waiter that loses a ballot: when the holder has released, the arbiter of the name has granted it to the waiter, whose takes and releases on the two other places have
// another fate for a while.
type cutOff struct {
	*stage
	waiter, other *Engine
	key           driver.Key
	granted       chan driver.Grant

	mu  sync.Mutex
	cut bool
}

func newCutOff(t *testing.T, bad func(place int, method string) fate) *cutOff {
	s := &cutOff{stage: newStage(t, 3), granted: make(chan driver.Grant, 1)}
	holder := s.client(steady)
	s.other, s.key = s.client(steady), nameWithArbiter(holder, 0)
	s.waiter = s.client(network{plan: func(place int, method string) fate {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cut && place > 0 {
			return bad(place, method)
		}
		return fate{before: ms, after: ms}
	}})
	if _, err := holder.Take(t.Context(), s.request("holder", false)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.waiter.Take(t.Context(), s.request("waiter", true)); !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("%v, want ErrHeld", err)
	}
	go func() {
		g, err := s.waiter.Wait(t.Context(), s.request("waiter", true))
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		s.granted <- g
	}()
	time.Sleep(time.Second)
	s.set(true)
	if err := holder.Release(t.Context(), driver.Release{Hold: driver.Hold{Key: s.key, Owner: "holder"}}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *cutOff) set(cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = cut
}

func (s *cutOff) request(owner string, join bool) driver.Request {
	r := request(owner)
	r.Key, r.Join = s.key, join
	return r
}

// A waiter loses a ballot, since two places do not answer, and the release of what they may have granted is under way for longer than anybody has thought of. A
// later ballot wins. Then the old release arrives, which must not take away what the waiter holds now.
func TestReleaseThatArrivesAfterALaterBallot(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{2 * ttl, 5 * time.Minute} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				held, first := newHeldBack(), map[int]bool{}
				s := newCutOff(t, func(place int, method string) fate {
					if method == "release" && !first[place] {
						first[place] = true
						return held.hold()
					}
					return fate{lost: method != "release"}
				})
				time.Sleep(late)
				s.set(false)
				<-s.granted
				if n := held.letGo(); n != 2 {
					t.Fatalf("%d releases were held back: the test is about two", n)
				}
				time.Sleep(ms)
				if _, err := s.other.Take(t.Context(), s.request("other", false)); !errors.Is(err, driver.ErrHeld) {
					t.Errorf("two hold it: %v, want ErrHeld", err)
				}
				time.Sleep(2 * ttl)
			})
		})
	}
}

// What a lost ballot was granted is in the way of the next one, if its release was lost. So that is sent again.
func TestLostReleaseOfALostBallotIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newCutOff(t, func(_ int, method string) fate { return fate{lost: method == "release", mute: true} })
		time.Sleep(2 * time.Second)
		s.set(false)
		if d := took(func() { <-s.granted }); d > 3*time.Second {
			t.Errorf("granted after %v", d)
		}
		time.Sleep(2 * ttl)
	})
}
