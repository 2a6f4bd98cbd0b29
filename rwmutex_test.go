package leasehold_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

func TestReadersTogetherWriterAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here, there := newClient(t, e).RWMutex("order"), newClient(t, e).RWMutex("order")
		readers := []*leasehold.Lease{take(t, here.RLock), take(t, here.TryRLock), take(t, there.RLock),
			take(t, there.TryRLock)}
		for _, m := range []*leasehold.RWMutex{here, there} {
			_, err := m.TryLock(t.Context())
			expect(t, err, leasehold.ErrHeld)
		}
		writer := start(t.Context(), here.Lock)
		for _, r := range readers {
			writer.wantWaiting(t)
			release(t, r)
		}
		w := writer.wantValue(t)
		for _, m := range []*leasehold.RWMutex{here, there} {
			_, err := m.TryRLock(t.Context())
			expect(t, err, leasehold.ErrHeld)
			_, err = m.TryLock(t.Context())
			expect(t, err, leasehold.ErrHeld)
		}
		release(t, w)
	})
}

func TestARWMutexAndAMutexShareTheirName(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		reader := take(t, c.RWMutex("order").RLock)
		_, err := c.Mutex("order").TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
		release(t, reader)
		take(t, c.Mutex("order").Lock)
		_, err = c.RWMutex("order").TryRLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
	})
}

// Waiters are served in order, so that neither side starves. Adjacent readers are granted together.
func TestReadersAndWritersAreServedInOrder(t *testing.T) {
	t.Parallel()
	for name, clients := range map[string]int{"of one process": 1, "of many": 7} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				var locks []*leasehold.RWMutex
				for range clients {
					locks = append(locks, newClient(t, e).RWMutex("order"))
				}
				first := take(t, locks[0].RLock)
				var waiting []*outcome[*leasehold.Lease]
				for i, writes := range []bool{true, false, false, true, false, true} {
					m := locks[(i+1)%clients]
					f := m.RLock
					if writes {
						f = m.Lock
					}
					o := start(t.Context(), f)
					o.wantWaiting(t) // including the readers, although a reader holds
					waiting = append(waiting, o)
				}
				release(t, first)
				for _, together := range [][]int{{0}, {1, 2}, {3}, {4}, {5}} {
					var leases []*leasehold.Lease
					for i, o := range waiting {
						if slices.Contains(together, i) {
							leases = append(leases, o.wantValue(t))
						} else if i > together[0] {
							o.wantWaiting(t)
						}
					}
					for _, l := range leases {
						release(t, l)
					}
				}
			})
		})
	}
}

// A stream of readers that always overlap does not keep a writer out.
func TestAWriterDoesNotStarve(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c, other := newClient(t, e), newClient(t, e)
		ctx, stop := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		for i, m := range []*leasehold.RWMutex{c.RWMutex("n"), c.RWMutex("n"), other.RWMutex("n")} {
			readers.Go(func() {
				time.Sleep(time.Duration(i) * 300 * time.Millisecond)
				for ctx.Err() == nil {
					m.RDo(ctx, func(context.Context, *leasehold.Lease) error {
						time.Sleep(time.Second)
						return nil
					})
				}
			})
		}
		time.Sleep(2500 * time.Millisecond)
		began := time.Now()
		writer := take(t, c.RWMutex("n").Lock)
		if waited := time.Since(began); waited > 1100*time.Millisecond {
			t.Errorf("the writer has waited %v for readers that take 1s", waited)
		}
		time.Sleep(time.Second)
		stop()
		release(t, writer)
		readers.Wait()
	})
}

// Nor does a stream of writers keep a reader out.
func TestAReaderDoesNotStarve(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c, other := newClient(t, e), newClient(t, e)
		ctx, stop := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for _, m := range []*leasehold.RWMutex{c.RWMutex("n"), c.RWMutex("n"), other.RWMutex("n")} {
			writers.Go(func() {
				for ctx.Err() == nil {
					m.Do(ctx, func(context.Context, *leasehold.Lease) error {
						time.Sleep(time.Second)
						return nil
					})
				}
			})
		}
		time.Sleep(2500 * time.Millisecond)
		began := time.Now()
		reader := take(t, c.RWMutex("n").RLock)
		// Before it: one holder, one waiter of this process, and two turns of the other process.
		if waited := time.Since(began); waited > 5*time.Second {
			t.Errorf("the reader has waited %v behind three writers that take 1s", waited)
		}
		stop()
		release(t, reader)
		writers.Wait()
	})
}

func TestDowngradeLetsReadersInAndNoWriter(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here, there := newClient(t, e).RWMutex("order"), newClient(t, e).RWMutex("order")
		lease := take(t, here.Lock)
		local, remote := start(t.Context(), here.RLock), start(t.Context(), there.RLock)
		local.wantWaiting(t)
		remote.wantWaiting(t)
		token := lease.Token()

		expect(t, lease.Downgrade(t.Context()), nil)
		readers := []*leasehold.Lease{local.wantValue(t), remote.wantValue(t), lease}
		if lease.Token() != token {
			t.Error("the token has changed")
		}
		wantCause(t, lease.Context(), nil)
		for _, m := range []*leasehold.RWMutex{here, there} {
			_, err := m.TryLock(t.Context())
			expect(t, err, leasehold.ErrHeld)
			release(t, take(t, m.TryRLock))
		}
		writer := start(t.Context(), there.Lock)
		time.Sleep(5 * leasehold.DefaultTTL) // it is renewed as before
		writer.wantWaiting(t)
		for _, r := range readers {
			release(t, r)
		}
		release(t, writer.wantValue(t))
	})
}

func TestDowngradeTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).RWMutex("order")
		lease := take(t, m.Lock)
		expect(t, lease.Downgrade(t.Context()), nil)
		expect(t, lease.Downgrade(t.Context()), nil)
		release(t, take(t, m.TryRLock))
		release(t, lease)

		reader := take(t, m.RLock) // has nothing to lose
		expect(t, reader.Downgrade(t.Context()), nil)
		release(t, reader)
		release(t, take(t, m.TryLock))
	})
}

func TestDowngradeMayBeRepeatedWhenItsReplyIsLost(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).RWMutex("order")
		lease := take(t, m.Lock)
		e.loseReplies(func(c call) error {
			if c.method == "Downgrade" {
				return errLost
			}
			return nil
		})
		expect(t, lease.Downgrade(t.Context()), leasehold.ErrUnavailable, errLost)
		wantCause(t, lease.Context(), nil)
		e.loseReplies(nil)
		expect(t, lease.Downgrade(t.Context()), nil)
		release(t, lease)
	})
}

func TestDowngradeOfALostLease(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		lease := take(t, c.RWMutex("order").Lock)
		expect(t, admin.New(e).ForceRelease(t.Context(), driver.Lock, "order", lease.Token()), nil)
		expect(t, lease.Downgrade(t.Context()), leasehold.ErrLost)
		wantCause(t, lease.Context(), leasehold.ErrLost) // the engine's refusal ends it at once
		expect(t, lease.Release(), leasehold.ErrLost)
	})
}

// Tries for what others may hold as well do not wait for each other while the engine is slow.
func TestTriesAtTheSameTime(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		resume := make(chan struct{})
		e.fail(func(call) error { <-resume; return nil })
		var tries []*outcome[*leasehold.Lease]
		for range 2 {
			tries = append(tries, start(t.Context(), c.RWMutex("order").TryRLock),
				start(t.Context(), func(ctx context.Context) (*leasehold.Lease, error) {
					return c.Semaphore("rooms", 2).TryAcquire(ctx, 1)
				}))
		}
		for _, o := range tries {
			o.wantWaiting(t)
		}
		close(resume)
		for _, o := range tries {
			release(t, o.wantValue(t))
		}
	})
}

// The contract with engines: requests about a hold name the mode that was asked for.
func TestRequestsNameTheModeThatWasAskedFor(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		lease := take(t, newClient(t, e).RWMutex("order").Lock)
		expect(t, lease.Downgrade(t.Context()), nil)
		time.Sleep(leasehold.DefaultTTL)
		release(t, lease)
		for _, method := range []string{"Renew", "Release"} {
			if mode := e.last(t, method).mode; mode != driver.Exclusive {
				t.Errorf("%s says %v", method, mode)
			}
		}
	})
}
