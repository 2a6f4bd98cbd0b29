package quorum

import (
	"testing"
	"testing/synctest"
	"time"
)

// testOvertaken has one client lose its key on the second node before it has raised the token there, and
// another client get the name meanwhile, with the same token. The first client must not be granted it,
// whatever the nodes answer then.
func testOvertaken(t *testing.T, slow func(node int, method string) delivery) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		s.setCounters(9, 8, 9)
		first := s.client(withoutClock(slow))
		second := s.client(withoutClock(func(node int, _ string) delivery { return delivery{lost: node == 0} }))
		done := make(chan struct{})
		go func() {
			defer close(done)
			if g, err := first.Take(t.Context(), request("first")); err == nil {
				t.Errorf("granted %d again", g.Token)
			}
		}()
		time.Sleep(5 * ms)
		s.nodes[1].jumpClock(time.Minute)
		time.Sleep(5 * ms)
		if g, err := second.Take(t.Context(), request("second")); err != nil || g.Token != 10 {
			t.Fatalf("granted %d, %v: the test is about 10", g.Token, err)
		}
		s.mustRelease(second, "second")
		<-done
		time.Sleep(time.Minute)
	})
}

func TestNodeThatGrantsMoreThanTheTokenDoesNotCount(t *testing.T) {
	testOvertaken(t, func(node int, method string) delivery {
		switch {
		case method == "raise":
			return delivery{requestDelay: 30 * ms}
		case node == 2:
			return delivery{requestDelay: 50 * ms}
		}
		return delivery{}
	})
}

func TestRaiseOfWhatWasLostBetweenDoesNotCount(t *testing.T) {
	testOvertaken(t, func(node int, method string) delivery {
		switch {
		case method == "raise":
			return delivery{requestDelay: 30 * ms}
		case node == 1:
			return delivery{repeatedAfter: 20 * ms}
		}
		return delivery{lost: node == 2}
	})
}
