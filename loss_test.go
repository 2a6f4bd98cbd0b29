package leasehold_test

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// Observers are told in one word how a lease was lost, and the word is right.
func TestHowALeaseWasLost(t *testing.T) {
	for how, lose := range map[leasehold.Loss]func(t *testing.T, e *spy, c *leasehold.Client){
		leasehold.LossRefused: func(t *testing.T, e *spy, c *leasehold.Client) {
			lose(t, e, driver.Lock, take(t, c.Mutex("order").Lock))
		},
		leasehold.LossDeadline: func(t *testing.T, e *spy, c *leasehold.Client) {
			lease := take(t, c.Mutex("order").Lock)
			e.fail(func(call) error { return errLost })
			awaitLoss(t, lease, leasehold.ErrLost)
		},
		leasehold.LossDropped: func(t *testing.T, e *spy, c *leasehold.Client) {
			_, err := c.Mutex("order").Lock(t.Context())
			expect(t, err, nil)
			// The garbage collector runs when it likes, and not in the bubble's time.
			for range 2000 {
				runtime.GC()
				time.Sleep(leasehold.DefaultTTL / 3)
				if all, err := e.Engine.List(t.Context(), driver.Query{}); err != nil || len(all) == 0 {
					expect(t, err, nil)
					return
				}
			}
		},
		leasehold.LossNotRenewed: func(t *testing.T, e *spy, c *leasehold.Client) {
			awaitLoss(t, take(t, c.Mutex("order", leasehold.NoRenew()).Lock), leasehold.ErrLost)
		},
		leasehold.LossMaxHold: func(t *testing.T, e *spy, c *leasehold.Client) {
			awaitLoss(t, take(t, c.Mutex("order", leasehold.MaxHold(time.Minute)).Lock), leasehold.ErrMaxHold)
		},
	} {
		t.Run(how.String(), func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				var seen events
				lose(t, e, newClient(t, e, leasehold.WithObserver(&seen)))
				lost := one[leasehold.Lost](t, &seen)
				cause := leasehold.ErrLost
				if how == leasehold.LossMaxHold {
					cause = leasehold.ErrMaxHold
				}
				if lost.How != how || !errors.Is(lost.Cause, cause) || lost.Reason == "" {
					t.Errorf("got %+v, want one that was lost so: %v", lost, how)
				}
				seen.balance(t)
			})
		})
	}
}

// awaitLoss waits for the end of a lease that is not released.
func awaitLoss(t *testing.T, lease *leasehold.Lease, cause error) {
	t.Helper()
	<-lease.Context().Done()
	synctest.Wait()                   // until it is observed
	expect(t, lease.Release(), cause) // keeping only the channel counts as dropping the lease
}

func TestLossesAsWords(t *testing.T) {
	t.Parallel()
	for how, word := range map[leasehold.Loss]string{
		leasehold.LossRefused: "refused", leasehold.LossDeadline: "deadline", leasehold.LossDropped: "dropped",
		leasehold.LossNotRenewed: "not_renewed", leasehold.LossMaxHold: "max_hold", 0: "unknown", 200: "unknown",
	} {
		if how.String() != word {
			t.Errorf("loss %d is called %q, want %q", how, how, word)
		}
	}
}
