package leasehold_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// A waiter whose Wait fails for good, without an effect, leaves the queue: it had joined before.
func TestWaiterThatFailsLeavesTheQueue(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		holder := take(t, newClient(t, e).Mutex("a").Lock)
		e.fail(func(c call) error {
			if c.method == "Wait" {
				return driver.Permanent(errors.New("no right"))
			}
			return nil
		})
		_, err := newClient(t, e).Mutex("a").Lock(t.Context())
		expect(t, err, leasehold.ErrUnavailable)
		time.Sleep(time.Second)
		synctest.Wait()
		all, err := e.Engine.List(t.Context(), driver.Query{Name: "a", Queue: true})
		expect(t, err, nil)
		if n := len(all[0].Queue); n != 0 {
			t.Errorf("%d waiters are left", n)
		}
		release(t, holder)
	})
}

// A take of unknown outcome may arrive after a later request of its owner was granted, and after that lease has ended,
// by a release or because the engine does not know it. Then it is cleaned up all the same.
func TestTakeThatArrivesAfterTheLeaseIsCleanedUp(t *testing.T) {
	t.Parallel()
	key := driver.Key{Kind: driver.Lock, Name: "a"}
	for name, end := range map[string]func(t *testing.T, e *spy, l *leasehold.Lease){
		"released": func(t *testing.T, _ *spy, l *leasehold.Lease) { release(t, l) },
		"refused": func(t *testing.T, e *spy, l *leasehold.Lease) {
			owner := e.last(t, "Wait").owner
			expect(t, e.Engine.Release(t.Context(), driver.Release{Hold: driver.Hold{Key: key, Owner: owner,
				Token: l.Token()}}), nil)
			expect(t, l.Extend(t.Context(), time.Minute), leasehold.ErrLost)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newSpy()
				e.can.Local = false
				holder := take(t, newClient(t, e).Mutex("a").Lock)
				var late driver.Request
				e.fail(func(c call) error {
					if c.method != "Wait" || late.Owner != "" {
						return nil
					}
					late = driver.Request{Key: key, Owner: c.owner, Place: c.owner, Size: 1, Weight: 1, TTL: c.ttl,
						Tokens: 1}
					return errors.New("no answer")
				})
				lock := start(t.Context(), newClient(t, e).Mutex("a").Lock)
				synctest.Wait()
				release(t, holder)
				time.Sleep(time.Second)
				if !lock.settle() {
					t.Fatal("the waiter is not granted the lock")
				}
				expect(t, lock.err, nil)
				e.fail(nil)
				end(t, e, lock.value)
				time.Sleep(time.Second)
				_, err := e.Engine.Take(t.Context(), late) // it arrives
				expect(t, err, nil)
				time.Sleep(leasehold.DefaultTTL * 2 / 3)
				synctest.Wait()
				all, err := e.Engine.List(t.Context(), driver.Query{Name: "a"})
				expect(t, err, nil)
				if len(all) > 0 {
					t.Error("the late take was not cleaned up")
				}
			})
		})
	}
}
