package quorum

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

// An attempt that is in use is never forgotten, and one that is not stays only if its owner will come again. Otherwise two takes of one owner would not
// know of each other's releases.
func TestAttemptsInUseAreKnown(t *testing.T) {
	t.Parallel()
	var s attempts
	released := driver.Release{Hold: hold("owner")}
	known := func(a *attempt) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.of["owner"] == a
	}
	var crowd sync.WaitGroup
	for range 8 {
		crowd.Go(func() {
			for range 5000 {
				r := request("owner")
				r.Join = rand.IntN(4) == 0
				a := s.begin(r, 3)
				if rand.IntN(2) == 0 {
					a.use()
					s.end(a)
				}
				if rand.IntN(4) == 0 {
					a, _, _ := s.release(released, &poll{}, nil)
					s.released(a, true, ttl)
				}
				if !known(a) {
					t.Error("an attempt in use is not known")
				}
				s.end(a)
			}
		})
	}
	crowd.Wait()
	a := s.begin(joining("owner"), 3)
	s.end(a)
	if !known(a) {
		t.Error("an owner that will come again is not known")
	}
	a, _, _ = s.release(released, &poll{}, nil)
	s.released(a, true, ttl)
	if len(s.of) != 0 || len(s.waiting) != 0 {
		t.Errorf("%d attempts are still known, %d wait", len(s.of), len(s.waiting))
	}
}

// The same, for one who begins just when another one ends.
func TestAttemptThatBeginsAgainIsKnown(t *testing.T) {
	t.Parallel()
	var s attempts
	a := s.begin(request("owner"), 3)
	s.mu.Lock()
	ended := make(chan struct{})
	go func() {
		s.end(a)
		close(ended)
	}()
	for a.uses.Load() != 0 {
		runtime.Gosched()
	}
	a.use() // as begin does
	s.mu.Unlock()
	<-ended
	if b := s.begin(request("owner"), 3); b != a {
		t.Error("an attempt in use is not known")
	}
}
