package quorum

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A caller that has waited, and asks again right after its release, does not overtake the waiters, however
// long it has waited.
func TestNobodyOvertakesWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		first, a, b := s.client(steady), s.client(steady), s.client(steady)
		s.mustTake(first, "first")
		turns := make(chan string, 4)
		wait := func(e *Engine, owner string) {
			g, err := e.Take(t.Context(), joining(owner))
			if errors.Is(err, driver.ErrHeld) {
				g, err = e.Wait(t.Context(), joining(owner))
			}
			if err != nil {
				t.Errorf("%s: %v", owner, err)
			}
			turns <- owner
			time.Sleep(100 * ms)
			s.releaseGrant(e, joining(owner), g)
		}
		done := make(chan struct{})
		go func() {
			wait(a, "a")
			wait(a, "a again")
			close(done)
		}()
		time.Sleep(100 * ms)
		go wait(b, "b")
		time.Sleep(3 * time.Second) // so long that the name is not remembered as contended any more
		s.mustRelease(first, "first")
		<-done
		if got := []string{<-turns, <-turns, <-turns}; !slices.Equal(got, []string{"a", "b", "a again"}) {
			t.Errorf("the turns are %v", got)
		}
		time.Sleep(time.Second)
	})
}
