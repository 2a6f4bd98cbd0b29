package quorum

import (
	"testing"
	"testing/synctest"
	"time"
)

// overtaken has one client lose its key on the second place before it has raised the token there, and another get the name
// meanwhile, with the same token. The first must not be granted it, whatever the places answer then.
func overtaken(t *testing.T, slow func(place int, method string) fate) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 3)
		s.count(9, 8, 9)
		first := s.client(without(slow))
		second := s.client(without(func(place int, _ string) fate { return fate{lost: place == 0} }))
		done := make(chan struct{})
		go func() {
			defer close(done)
			if g, err := first.Take(t.Context(), request("first")); err == nil {
				t.Errorf("granted %d again", g.Token)
			}
		}()
		time.Sleep(5 * ms)
		s.places[1].jump(time.Minute)
		time.Sleep(5 * ms)
		if g, err := second.Take(t.Context(), request("second")); err != nil || g.Token != 10 {
			t.Fatalf("granted %d, %v: the test is about 10", g.Token, err)
		}
		s.release(second, "second")
		<-done
		time.Sleep(time.Minute)
	})
}

func TestNodeThatGrantsMoreThanTheTokenDoesNotCount(t *testing.T) {
	overtaken(t, func(place int, method string) fate {
		switch {
		case method == "raise":
			return fate{before: 30 * ms}
		case place == 2:
			return fate{before: 50 * ms}
		}
		return fate{}
	})
}

func TestRaiseOfWhatWasLostBetweenDoesNotCount(t *testing.T) {
	overtaken(t, func(place int, method string) fate {
		switch {
		case method == "raise":
			return fate{before: 30 * ms}
		case place == 1:
			return fate{again: 20 * ms}
		}
		return fate{lost: place == 2}
	})
}
