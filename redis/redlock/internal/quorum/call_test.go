package quorum

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

// A call that is in use is never forgotten. One that is not in use is remembered only if its owner will come
// again. Otherwise two takes of one owner would not know of each other's releases.
func TestCallsInUseAreKnown(t *testing.T) {
	t.Parallel()
	var s calls
	released := driver.Release{Hold: holdOf("owner")}
	known := func(c *call) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.byOwner["owner"] == c
	}
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 5000 {
				r := request("owner")
				r.Join = rand.IntN(4) == 0
				c := s.begin(r, 3)
				if rand.IntN(2) == 0 {
					c.addUse()
					s.endUse(c)
				}
				if rand.IntN(4) == 0 {
					c, _, _ := s.beginRelease(released, &fanOut{}, nil)
					s.endRelease(c, true, ttl)
				}
				if !known(c) {
					t.Error("a call in use is not known")
				}
				s.endUse(c)
			}
		})
	}
	work.Wait()
	c := s.begin(joining("owner"), 3)
	s.endUse(c)
	if !known(c) {
		t.Error("an owner that will come again is not known")
	}
	c, _, _ = s.beginRelease(released, &fanOut{}, nil)
	s.endRelease(c, true, ttl)
	if len(s.byOwner) != 0 || len(s.waiting) != 0 {
		t.Errorf("%d calls are still known, %d wait", len(s.byOwner), len(s.waiting))
	}
}

// The same for a call that begins when another use of it ends.
func TestCallThatBeginsAgainIsKnown(t *testing.T) {
	t.Parallel()
	var s calls
	c := s.begin(request("owner"), 3)
	s.mu.Lock()
	ended := make(chan struct{})
	go func() {
		s.endUse(c)
		close(ended)
	}()
	for c.uses.Load() != 0 {
		runtime.Gosched()
	}
	c.addUse() // as begin does
	s.mu.Unlock()
	<-ended
	if b := s.begin(request("owner"), 3); b != c {
		t.Error("a call in use is not known")
	}
}
