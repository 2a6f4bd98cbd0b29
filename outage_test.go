package leasehold_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// Callers that wait behind a holder in their own process have waited like any others: if their turn comes in an outage
// of a second, they wait for its end.
func TestLocalWaitersSurviveAnOutage(t *testing.T) {
	t.Parallel()
	for _, handOver := range []int{0, 64} {
		synctest.Test(t, func(t *testing.T) {
			net := newNetwork()
			m := newClient(t, net, leasehold.WithHandOver(handOver)).Mutex("order", leasehold.TTL(ttl))
			lease := take(t, m.Lock)
			var waiting []*outcome[*leasehold.Lease]
			for range 50 {
				waiting = append(waiting, start(t.Context(), func(ctx context.Context) (*leasehold.Lease, error) {
					lease, err := m.Lock(ctx)
					if err == nil {
						err = lease.Release()
					}
					return lease, err
				}))
			}
			synctest.Wait()
			time.Sleep(20 * time.Millisecond) // from now on nothing is handed over
			net.on(drivertest.Fault{FailBefore: true}, drivertest.Take, drivertest.Wait, drivertest.Release)
			lease.Release()
			time.Sleep(time.Second)
			net.heal()
			time.Sleep(ttl)
			for _, w := range waiting {
				w.wantValue(t)
			}
		})
	}
}

// An outage has one beginning for all of them: none counts from the moment when the one before has given up. A caller
// that comes during the outage has not waited for anything that was held.
func TestLocalWaitersShareAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		net := newNetwork()
		m := newClient(t, net).Mutex("order", leasehold.TTL(ttl), leasehold.NoRenew())
		lease := take(t, m.Lock)
		var waiting []*outcome[*leasehold.Lease]
		for range 10 {
			waiting = append(waiting, start(t.Context(), m.Lock))
		}
		synctest.Wait()
		net.on(drivertest.Fault{FailBefore: true}, drivertest.Take, drivertest.Wait, drivertest.Release)
		lease.Release()
		time.Sleep(ttl - time.Second)
		for _, w := range waiting {
			w.wantWaiting(t)
		}
		time.Sleep(2 * time.Second)
		for _, w := range waiting {
			w.wantErr(t, leasehold.ErrUnavailable)
		}
		_, err := m.Lock(t.Context())
		expect(t, err, leasehold.ErrUnavailable)
	})
}

// callsThatCanBeRefused are the calls that can find something held.
func callsThatCanBeRefused(c *leasehold.Client, opts ...leasehold.Option) map[string]func(context.Context) error {
	asked := func(f asker) func(context.Context) error {
		return func(ctx context.Context) error { _, err := f(ctx); return err }
	}
	return map[string]func(context.Context) error{
		"Lock":    asked(c.Mutex("order", opts...).Lock),
		"RLock":   asked(c.RWMutex("order", opts...).RLock),
		"Acquire": asked(permits(c.Semaphore("order", 1, opts...), 1)),
		"Campaign": asked(func(ctx context.Context) (*leasehold.Lease, error) {
			return c.Election("order", opts...).Campaign(ctx, "me")
		}),
		"LockAll": func(ctx context.Context) error { _, err := c.LockAll(ctx, "order", "other"); return err },
		"Wait":    c.Latch("order", opts...).Wait,
	}
}

// If a limit passes before the engine has said anything, that is not "held": it is unknown.
func TestNoAnswerWithinTheWaitLimitIsNotHeld(t *testing.T) {
	t.Parallel()
	const limit = time.Second // less than a request may take
	for name := range callsThatCanBeRefused(leasehold.New(nil)) {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, net *network) {
				c := newClient(t, net, leasehold.WithDefaults(leasehold.WaitLimit(limit)))
				net.on(drivertest.Fault{Hang: true}, drivertest.Take, drivertest.TakeAll, drivertest.LatchState)
				began := time.Now()
				err := callsThatCanBeRefused(c)[name](t.Context())
				expect(t, err, leasehold.ErrUnavailable)
				if errors.Is(err, leasehold.ErrTimeout) || errors.Is(err, leasehold.ErrHeld) ||
					errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v says that it is held", err)
				}
				if took := time.Since(began); took > limit {
					t.Errorf("it took %v", took)
				}
				net.heal()
			})
		})
	}
}

// The caller's deadline stays what it is, and the error adds that it is unknown whether the name is held.
func TestNoAnswerBeforeTheDeadlineIsNotHeld(t *testing.T) {
	t.Parallel()
	for name := range callsThatCanBeRefused(leasehold.New(nil)) {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, net *network) {
				c := newClient(t, net)
				net.on(drivertest.Fault{Hang: true}, drivertest.Take, drivertest.TakeAll, drivertest.LatchState)
				own := errors.New("own")
				for _, cause := range []error{nil, own} {
					ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
					err := callsThatCanBeRefused(c)[name](ctx)
					cancel()
					expect(t, err, context.DeadlineExceeded, leasehold.ErrUnavailable)
					if cause != nil {
						expect(t, err, cause)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				if err := callsThatCanBeRefused(c)[name](ctx); !errors.Is(err, context.Canceled) ||
					errors.Is(err, leasehold.ErrUnavailable) {
					t.Errorf("a caller that has given up gets %v", err)
				}
				net.heal()
			})
		})
	}
}

// Once the engine has said that the name is held, the limit means that, whatever happens afterwards.
func TestHeldAndThenNoAnswerIsATimeout(t *testing.T) {
	t.Parallel()
	for name := range callsThatCanBeRefused(leasehold.New(nil)) {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, net *network) {
				c, other := newClient(t, net), newClient(t, net.engine)
				take(t, other.Mutex("order").Lock)
				take(t, permits(other.Semaphore("order", 1), 1))
				_, err := other.Latch("order").TrySet(t.Context(), 1)
				expect(t, err, nil)
				limited := newClient(t, net, leasehold.WithDefaults(leasehold.WaitLimit(time.Second)))
				call := start(t.Context(), func(ctx context.Context) (struct{}, error) {
					return struct{}{}, callsThatCanBeRefused(limited)[name](ctx)
				})
				call.wantWaiting(t)
				net.on(drivertest.Fault{FailBefore: true}, drivertest.Take, drivertest.Wait, drivertest.LatchState,
					drivertest.Release)
				time.Sleep(time.Second)
				call.wantErr(t, leasehold.ErrTimeout)

				net.heal()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err = callsThatCanBeRefused(c)[name](ctx)
				expect(t, err, context.DeadlineExceeded)
				if errors.Is(err, leasehold.ErrUnavailable) {
					t.Errorf("the engine has answered, and the caller gets %v", err)
				}
			})
		})
	}
}

// slowJoin is an engine whose server says at once that a name is held, and then does not answer the request that joins
// the queue. That request fails after a while, or when its context ends.
type slowJoin struct {
	driver.Engine
	fails time.Duration
	takes *atomic.Int32
}

func (s slowJoin) Abilities() driver.Abilities {
	a := s.Engine.Abilities()
	a.Local = false
	return a
}

func (s slowJoin) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	s.takes.Add(1)
	if !r.Join {
		return s.Engine.Take(ctx, r)
	}
	select {
	case <-ctx.Done():
		return driver.Grant{}, driver.KnownHeld(driver.Spent(ctx.Err()))
	case <-time.After(s.fails):
		return driver.Grant{}, driver.KnownHeld(errLost)
	}
}

// That holds for an engine that hears it in the first of two requests, too. The call is a waiter from then on.
func TestHeldAndThenNoAnswerToTheJoin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fails, ends time.Duration // when the requests fail, and when the call ends
		takes       int32
	}{{time.Hour, time.Second, 1}, {time.Second, 4 * time.Second, 2}} {
		synctest.Test(t, func(t *testing.T) {
			e := slowJoin{memory.New(), c.fails, new(atomic.Int32)}
			client := newClient(t, e)
			_, err := client.Mutex("order", leasehold.WaitLimit(c.ends)).Lock(t.Context())
			expectOnly(t, err, leasehold.ErrTimeout)
			if n := e.takes.Load(); n < c.takes {
				t.Errorf("it has asked %d times, want at least %d: it did not go on waiting", n, c.takes)
			}
		})
	}
}

// In the local queue it is an answer that somebody here holds the name, or has been told that it is held. That somebody
// is asking is not.
func TestWhatTheLocalQueueKnows(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	lock := func(c *leasehold.Client) asker { return c.Mutex("order", leasehold.WaitLimit(limit)).Lock }
	try := func(c *leasehold.Client) asker { return c.Mutex("order").TryLock }
	for name, test := range map[string]struct {
		first     func(t *testing.T, net *network, c *leasehold.Client)
		lock, try error
	}{
		"holds": {func(t *testing.T, net *network, c *leasehold.Client) {
			take(t, c.Mutex("order").Lock)
		}, leasehold.ErrTimeout, leasehold.ErrHeld},
		"waits": {func(t *testing.T, net *network, c *leasehold.Client) {
			take(t, newClient(t, net.engine).Mutex("order").Lock)
			start(t.Context(), c.Mutex("order").Lock).wantWaiting(t)
		}, leasehold.ErrTimeout, leasehold.ErrHeld},
		"asks": {func(t *testing.T, net *network, c *leasehold.Client) {
			net.on(drivertest.Fault{Hang: true}, drivertest.Take)
			start(t.Context(), c.Mutex("order").Lock).wantWaiting(t)
		}, leasehold.ErrUnavailable, leasehold.ErrUnavailable},
		"tries": {func(t *testing.T, net *network, c *leasehold.Client) {
			net.on(drivertest.Fault{Hang: true}, drivertest.Take)
			start(t.Context(), c.Mutex("order").TryLock).wantWaiting(t)
		}, leasehold.ErrUnavailable, leasehold.ErrUnavailable},
		"releases": {func(t *testing.T, net *network, c *leasehold.Client) {
			lease := take(t, c.Mutex("order").Lock)
			net.on(drivertest.Fault{Hang: true}, drivertest.Release, drivertest.Take)
			go lease.Release()
		}, leasehold.ErrUnavailable, leasehold.ErrUnavailable},
	} {
		for how, second := range map[string]struct {
			ask  func(*leasehold.Client) asker
			want error
		}{"lock": {lock, test.lock}, "try": {try, test.try}} {
			t.Run(fmt.Sprint(name, " ", how), func(t *testing.T) {
				inBubble(t, func(t *testing.T, net *network) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					c := newClient(t, net)
					test.first(t, net, c)
					synctest.Wait()
					began := time.Now()
					_, err := second.ask(c)(ctx)
					expect(t, err, second.want)
					if took := time.Since(began); took > leasehold.DefaultRequestTimeout {
						t.Errorf("it took %v", took)
					}
					net.heal()
				})
			})
		}
	}
}

// A try that meets another one waits for the answer of that one, and no longer.
func TestATryWaitsForTheAnswerOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		net := newNetwork()
		m := newClient(t, net).Mutex("order")
		net.on(drivertest.Fault{Before: time.Second}, drivertest.Take)
		first, second := start(t.Context(), m.TryLock), start(t.Context(), m.TryLock)
		first.wantWaiting(t)
		second.wantWaiting(t)
		time.Sleep(time.Second)
		if first.settle() && first.err != nil {
			first, second = second, first
		}
		first.wantValue(t)
		second.wantErr(t, leasehold.ErrHeld)
	})
}

// inBubble runs a test in virtual time on a network of its own.
func inBubble(t *testing.T, test func(*testing.T, *network)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newNetwork()) })
}
