package quorum

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// If a raise is not answered, nobody knows whether the lock could be had: that is not a refusal.
func TestRaiseWithoutAnAnswerIsNoRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		s.setCounters(9, 8, 7)
		e := s.client(
			withoutClock(func(_ int, method string) delivery { return delivery{replyLost: method == "raise"} }))
		_, err := e.Take(t.Context(), request("owner"))
		if err == nil || driver.IsNo(err) {
			t.Errorf("%v, want an unknown outcome", err)
		}
		time.Sleep(time.Minute)
	})
}

// refusingNode is a node that refuses for good.
type refusingNode struct{ memoryNode }

func (refusingNode) TakeFrom(context.Context, quorumnode.Request) (driver.Grant, error) {
	return driver.Grant{}, driver.Permanent(errors.New("no rights"))
}

func (r refusingNode) StartTake(ctx context.Context, q quorumnode.Request, done func(driver.Grant, error)) {
	done(r.TakeFrom(ctx, q))
}

// A caller that would wait and fails for good is forgotten: nobody releases what has had no effect.
func TestCallThatFailsForGoodIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newQuorum(refusingNode{newMemoryNode()}, refusingNode{newMemoryNode()}, refusingNode{newMemoryNode()})
		defer e.Close()
		if _, err := e.Take(t.Context(), joining("owner")); !driver.IsPermanent(err) {
			t.Fatalf("take: %v", err)
		}
		synctest.Wait()
		if n := len(e.calls.byOwner); n > 0 {
			t.Errorf("the engine remembers %d calls", n)
		}
	})
}

// The error of a renewal that nobody has decided is well formed.
func TestErrorOfARenewalThatIsNotDecided(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 5)
		e := s.client(networkPlan{plan: func(node int, method string) delivery {
			switch {
			case method == "renew" && node == 2:
				return delivery{connectionBreaks: true}
			case method == "renew" && node == 0:
				return delivery{replyDelay: 100 * ms} // so that the last answer is a yes
			}
			return delivery{}
		}})
		s.mustTake(e, "owner")
		time.Sleep(time.Second)
		s.releaseOn(3, "owner")
		s.releaseOn(4, "owner")
		if err := s.renew(e, "owner"); err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("renewal: %v", err)
		}
		s.mustRelease(e, "owner")
		time.Sleep(time.Minute)
	})
}
