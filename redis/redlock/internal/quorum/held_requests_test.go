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

// heldRequests are requests that a test holds back, for as long as it likes.
type heldRequests struct {
	mu    sync.Mutex
	count int
	gate  chan struct{}
}

func newHeldRequests() *heldRequests { return &heldRequests{gate: make(chan struct{})} }

func (h *heldRequests) hold() delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	return delivery{heldUntil: h.gate}
}

// releaseAll lets them all arrive, and returns how many there were.
func (h *heldRequests) releaseAll() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.gate)
	n := h.count
	h.count, h.gate = 0, make(chan struct{})
	return n
}

// nameWithArbiter returns a name whose arbiter is this node.
func nameWithArbiter(e *Engine, node int) driver.Key {
	for i := 0; ; i++ {
		k := driver.Key{Kind: driver.Lock, Name: fmt.Sprint("name ", i)}
		if e.arbiters(k)[0].index == node {
			return k
		}
	}
}

// partition is a waiter that loses a ballot. The holder has released, and the arbiter has granted the name to
// the waiter. But the requests of the waiter to the two other nodes are disturbed for a while.
type partition struct {
	*testQuorum
	waiter, other *Engine
	key           driver.Key
	granted       chan driver.Grant

	mu  sync.Mutex
	cut bool
}

func newPartition(t *testing.T, bad func(node int, method string) delivery) *partition {
	s := &partition{testQuorum: newTestQuorum(t, 3), granted: make(chan driver.Grant, 1)}
	holder := s.client(steady)
	s.other, s.key = s.client(steady), nameWithArbiter(holder, 0)
	s.waiter = s.client(networkPlan{plan: func(node int, method string) delivery {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cut && node > 0 {
			return bad(node, method)
		}
		return delivery{requestDelay: ms, replyDelay: ms}
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

func (s *partition) set(cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = cut
}

func (s *partition) request(owner string, join bool) driver.Request {
	r := request(owner)
	r.Key, r.Join = s.key, join
	return r
}

// A waiter loses a ballot, since two nodes do not answer, and the release of what they may have granted stays
// in flight for a very long time. A later ballot wins. Then the old release arrives. It must not take away
// what the waiter holds now.
func TestReleaseThatArrivesAfterALaterBallot(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{2 * ttl, 5 * time.Minute} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				held, first := newHeldRequests(), map[int]bool{}
				s := newPartition(t, func(node int, method string) delivery {
					if method == "release" && !first[node] {
						first[node] = true
						return held.hold()
					}
					return delivery{lost: method != "release"}
				})
				time.Sleep(late)
				s.set(false)
				<-s.granted
				if n := held.releaseAll(); n != 2 {
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

// What a lost ballot was granted is in the way of the next one, if its release was lost. So the release is sent again.
func TestLostReleaseOfALostBallotIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPartition(t,
			func(_ int, method string) delivery { return delivery{lost: method == "release", replyLost: true} })
		time.Sleep(2 * time.Second)
		s.set(false)
		if d := durationOf(func() { <-s.granted }); d > 3*time.Second {
			t.Errorf("granted after %v", d)
		}
		time.Sleep(2 * ttl)
	})
}
