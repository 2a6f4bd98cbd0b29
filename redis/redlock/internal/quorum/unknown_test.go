package quorum

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// Whether a raise was done is not known. Then nobody knows whether the lock could be had: that is no "no".
func TestRaiseWithoutAnAnswerIsNoRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 3)
		s.count(9, 8, 7)
		e := s.client(without(func(_ int, method string) fate { return fate{mute: method == "raise"} }))
		_, err := e.Take(t.Context(), request("owner"))
		if err == nil || driver.IsNo(err) {
			t.Errorf("%v, want an unknown outcome", err)
		}
		time.Sleep(time.Minute)
	})
}

// refusing is a node that refuses for good.
type refusing struct{ *memory.Engine }

func (refusing) Take(context.Context, driver.Request) (driver.Grant, error) {
	return driver.Grant{}, driver.Permanent(errors.New("no rights"))
}

func (r refusing) StartTake(ctx context.Context, q driver.Request, done func(driver.Grant, error)) {
	done(r.Take(ctx, q))
}

// Whoever would wait, but is told that it is hopeless, is forgotten: nobody releases what has had no effect.
func TestAttemptThatIsHopelessIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := over(refusing{memory.New()}, refusing{memory.New()}, refusing{memory.New()})
		defer e.Close()
		if _, err := e.Take(t.Context(), joining("owner")); !driver.IsPermanent(err) {
			t.Fatalf("take: %v", err)
		}
		synctest.Wait()
		if n := len(e.attempts.of); n > 0 {
			t.Errorf("the engine remembers %d attempts", n)
		}
	})
}

// The text of a renewal that nobody has decided.
func TestErrorOfARenewalThatIsNotDecided(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 5)
		e := s.client(network{plan: func(place int, method string) fate {
			switch {
			case method == "renew" && place == 2:
				return fate{broken: true}
			case method == "renew" && place == 0:
				return fate{after: 100 * ms} // the last answer is a yes
			}
			return fate{}
		}})
		s.take(e, "owner")
		time.Sleep(time.Second)
		s.releaseOn(3, "owner")
		s.releaseOn(4, "owner")
		if err := s.renew(e, "owner"); err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("renewal: %v", err)
		}
		s.release(e, "owner")
		time.Sleep(time.Minute)
	})
}
