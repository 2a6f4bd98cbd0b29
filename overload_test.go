package leasehold_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// slowEngine is an engine that does only so much in a second, in the order of the requests. It also does what was given
// up.
type slowEngine struct {
	*memory.Engine

	mu   sync.Mutex
	each time.Duration // for one lock
	free time.Time     // when it has done everything that it was asked for
}

func (e *slowEngine) Abilities() driver.Abilities {
	return driver.Abilities{Name: "slow"}
}

func (e *slowEngine) slowDown(each time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.each = each
}

// do calls f for n locks when it is its turn, or returns when ctx ends before.
func (e *slowEngine) do(ctx context.Context, n int, f func()) error {
	e.mu.Lock()
	now := time.Now()
	if e.free.Before(now) {
		e.free = now
	}
	e.free = e.free.Add(time.Duration(n) * e.each)
	wait := e.free.Sub(now)
	e.mu.Unlock()
	if wait == 0 {
		f()
		return nil
	}
	done := make(chan struct{})
	time.AfterFunc(wait, func() { f(); close(done) })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *slowEngine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	type answer struct {
		g   driver.Grant
		err error
	}
	answers := make(chan answer, 1)
	take := func() { g, err := e.Engine.Take(context.Background(), r); answers <- answer{g, err} }
	if err := e.do(ctx, 1, take); err != nil {
		return driver.Grant{}, err
	}
	a := <-answers
	return a.g, a.err
}

func (e *slowEngine) Renew(ctx context.Context, batch []driver.Renewal, report func(int, error)) {
	errs := make([]error, len(batch))
	mine := append([]driver.Renewal(nil), batch...)
	renew := func() { e.Engine.Renew(context.Background(), mine, func(i int, err error) { errs[i] = err }) }
	if e.do(ctx, len(batch), renew) == nil {
		for i, err := range errs {
			report(i, err)
		}
	}
}

func (e *slowEngine) Release(ctx context.Context, r driver.Release) error {
	answer := make(chan error, 1)
	if err := e.do(ctx, 1, func() { answer <- e.Engine.Release(context.Background(), r) }); err != nil {
		return err
	}
	return <-answer
}

// Many more takes than the engine can do: holders keep their leases, takes are slowed or refused, and afterwards
// everything is as before. Not parallel: other tests count goroutines.
func TestRenewalsGoBeforeTakes(t *testing.T) {
	const leases, takers = 1_000, 2_000
	synctest.Test(t, func(t *testing.T) {
		var lost counter
		e := &slowEngine{Engine: memory.New(), each: 5 * time.Millisecond} // twice what the renewals need
		c := newClient(t, e, leasehold.WithObserver(&lost))
		var held []*leasehold.Lease
		for i := range leases {
			lease, err := c.Mutex(fmt.Sprint("held ", i)).Lock(t.Context())
			expect(t, err, nil)
			held = append(held, lease)
			if i%10 == 0 { // otherwise all would be renewed at about the same time
				time.Sleep(50 * time.Millisecond)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), leasehold.DefaultTTL)
		defer cancel()
		var work sync.WaitGroup
		var granted, refused, explained atomic.Int64
		for i := range takers {
			work.Go(func() {
				for ctx.Err() == nil {
					lease, err := c.Mutex(fmt.Sprint("wanted ", i)).TryLock(ctx)
					switch {
					case err == nil:
						granted.Add(1)
						lease.Release()
					case errors.Is(err, leasehold.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
						refused.Add(1)
						if strings.Contains(err.Error(), "renewals of its leases go first") {
							explained.Add(1)
						}
					case errors.Is(err, leasehold.ErrHeld): // one that was given up holds it, and is undone
					default:
						t.Error(err)
					}
				}
			})
		}
		work.Wait()
		t.Logf("granted %d, refused %d, of which %d say why, lost %d", granted.Load(), refused.Load(), explained.Load(),
			lost.Load())
		if n := lost.Load(); n > 0 {
			t.Errorf("%d leases were lost", n)
		}
		if granted.Load() == 0 || explained.Load() == 0 {
			t.Error("nobody was granted anything, or nobody learned why not")
		}
		time.Sleep(10 * time.Second)
		for i := range 100 {
			began := time.Now()
			release(t, take(t, c.Mutex(fmt.Sprint("after ", i)).TryLock))
			if took := time.Since(began); took > time.Second {
				t.Fatalf("after the load a take and a release take %v", took)
			}
		}
		for _, lease := range held {
			if err := lease.Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// More leases than the engine can renew in time at the usual interval: they are renewed less often, instead of all
// being renewed too late. Not parallel: it needs much memory.
func TestMoreLeasesThanCanBeRenewed(t *testing.T) {
	const leases = 30_000
	synctest.Test(t, func(t *testing.T) {
		var lost counter
		e := &slowEngine{Engine: memory.New()}
		c := newClient(t, e, leasehold.WithObserver(&lost), leasehold.WithLogger(slog.New(slog.DiscardHandler)))
		var held []*leasehold.Lease
		for i := range leases {
			held = append(held, take(t, c.Mutex(fmt.Sprint(i)).Lock))
		}
		perRenewal := leasehold.DefaultTTL / 2 / leases // renewals are due every third of the ttl
		e.slowDown(perRenewal)
		time.Sleep(10 * leasehold.DefaultTTL)
		if n := lost.Load(); n > 0 {
			t.Errorf("%d of %d leases were lost", n, leases)
		}
		e.slowDown(0)
		runtime.KeepAlive(held) // else they are dropped, and no longer renewed
	})
}

// counter counts the leases that are lost.
type counter struct{ atomic.Int64 }

func (c *counter) ObserveLost(leasehold.Lost) { c.Add(1) }

// Takes that wait for the limiter end with their client, and not when they would have been admitted.
func TestTakesThatWaitForTheLimiterEndWithTheClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &slowEngine{Engine: memory.New(), each: time.Hour}
		c := newClient(t, e)
		var calls []*outcome[*leasehold.Lease]
		for i := range 200 {
			calls = append(calls, start(t.Context(), c.Mutex(fmt.Sprint(i)).TryLock))
		}
		synctest.Wait() // the limit is in flight, and the others wait
		began, over := time.Now(), 0
		closed := start(t.Context(), func(context.Context) (struct{}, error) { return struct{}{}, c.Close() })
		synctest.Wait()
		for _, call := range calls {
			if call.settle() {
				over++
				expect(t, call.err, leasehold.ErrClosed)
			}
		}
		if over == 0 || time.Since(began) > 0 {
			t.Errorf("%d of the calls have ended after %v, want those that waited for the limiter at once", over,
				time.Since(began))
		}
		<-closed.done
		for _, call := range calls {
			<-call.done
		}
	})
}
