package leasehold_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

func TestCloseReleasesWhatIsHeld(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c, other := newClient(t, e), newClient(t, e)
		leases := []*leasehold.Lease{take(t, c.Mutex("a").Lock), take(t, c.RWMutex("b").RLock),
			take(t, permits(c.Semaphore("c", 2), 2))}
		theirs := take(t, other.Mutex("d").Lock)
		for _, l := range leases {
			wantCause(t, l.Context(), nil)
		}
		expect(t, c.Close(), nil)
		for _, l := range leases {
			wantCause(t, l.Context(), leasehold.ErrClosed)
		}
		held, err := e.Engine.List(t.Context(), driver.Query{})
		if err != nil || len(held) != 1 || held[0].Name != "d" {
			t.Errorf("after Close %+v, %v are held", held, err)
		}
		wantCause(t, theirs.Context(), nil) // the engine stays open
		release(t, theirs)
	})
}

func TestCloseEndsWaiting(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c, other := leasehold.New(e), newClient(t, e)
		held := take(t, other.Mutex("order").Lock)
		set(t, other.Latch("start"), 1, true)
		take(t, permits(other.Semaphore("rooms", 1), 1))
		waiting := queueUp(t, c.Mutex("order").Lock, c.Mutex("order").Lock, c.RWMutex("order").RLock,
			permits(c.Semaphore("rooms", 1), 1))
		many, latch := start(t.Context(), all(c, "a", "order")), start(t.Context(), waitFor(c.Latch("start")))
		many.wantWaiting(t)
		latch.wantWaiting(t)
		expect(t, c.Close(), nil)
		for _, o := range waiting {
			o.settle()
			expectOnly(t, o.err, leasehold.ErrClosed)
		}
		many.settle()
		expectOnly(t, many.err, leasehold.ErrClosed)
		latch.settle()
		expectOnly(t, latch.err, leasehold.ErrClosed)
		if n := waitingOn(t, e, "order"); n != 0 {
			t.Errorf("%d still wait on the engine", n)
		}
		release(t, held)
		release(t, take(t, other.Mutex("order").TryLock))
	})
}

func TestAfterCloseEverythingFails(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := leasehold.New(e)
		lease := take(t, c.Mutex("held").Lock)
		expect(t, c.Close(), nil)
		requests := e.sent()
		ctx := t.Context()
		for name, f := range map[string]func() error{
			"Lock":       func() error { _, err := c.Mutex("n").Lock(ctx); return err },
			"TryLock":    func() error { _, err := c.Mutex("n").TryLock(ctx); return err },
			"Do":         func() error { return c.Mutex("n").Do(ctx, nil) },
			"RLock":      func() error { _, err := c.RWMutex("n").RLock(ctx); return err },
			"TryRLock":   func() error { _, err := c.RWMutex("n").TryRLock(ctx); return err },
			"Acquire":    func() error { _, err := c.Semaphore("n", 2).Acquire(ctx, 1); return err },
			"TryAcquire": func() error { _, err := c.Semaphore("n", 2).TryAcquire(ctx, 1); return err },
			"LockAll":    func() error { _, err := c.LockAll(ctx, "n", "o"); return err },
			"Campaign":   func() error { _, err := c.Election("n").Campaign(ctx, "me"); return err },
			"Leader":     func() error { _, err := c.Election("n").Leader(ctx); return err },
			"TrySet":     func() error { _, err := c.Latch("n").TrySet(ctx, 1); return err },
			"CountDown":  func() error { _, err := c.Latch("n").CountDown(ctx); return err },
			"Count":      func() error { _, err := c.Latch("n").Count(ctx); return err },
			"Wait":       func() error { return c.Latch("n").Wait(ctx) },
			"Extend":     func() error { return lease.Extend(ctx, time.Minute) },
			"Downgrade":  func() error { return lease.Downgrade(ctx) },
			"Release":    lease.Release,
			"re-entry": func() error {
				_, err := c.Mutex("held").Lock(context.WithoutCancel(lease.Context()))
				return err
			},
		} {
			t.Log(name)
			expectOnly(t, f(), leasehold.ErrClosed)
		}
		if n := e.sent() - requests; n != 0 {
			t.Errorf("%d requests were sent after Close", n)
		}
	})
}

func TestCloseMayBeCalledAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := leasehold.New(e)
		take(t, c.Mutex("order").Lock)
		e.fail(func(call) error { return errLost })
		var wg sync.WaitGroup
		answers := make([]error, 3)
		for i := range answers {
			wg.Go(func() { answers[i] = c.Close() })
		}
		wg.Wait()
		for _, err := range answers {
			expectOnly(t, err, leasehold.ErrUnknown) // the release was not confirmed
			if err.Error() != answers[0].Error() {
				t.Errorf("got error %v and error %v", answers[0], err)
			}
		}
		if n := e.sent("Release"); n != 1 {
			t.Errorf("%d releases were sent", n)
		}
	})
}

func TestCloseOfAClientThatWasNeverUsed(t *testing.T) {
	t.Parallel()
	expect(t, leasehold.New(memory.New()).Close(), nil)
	expect(t, leasehold.New(nil).Close(), nil)
}

// A grant that arrives when the client is closed must not stay.
func TestCloseWhileARequestIsInFlight(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := leasehold.New(e)
		resume := make(chan struct{})
		e.fail(func(c call) error {
			if c.method == "Take" {
				<-resume
			}
			return nil
		})
		asking := start(t.Context(), c.Mutex("order").Lock)
		asking.wantWaiting(t)
		expect(t, c.Close(), nil)
		close(resume)
		asking.settle()
		expectOnly(t, asking.err, leasehold.ErrClosed)
		e.fail(nil)
		release(t, take(t, newClient(t, e).Mutex("order").TryLock))
	})
}

// However many leases there are, and whatever the engine does, Close returns.
func TestCloseIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		if e.can.Local {
			t.Skip("a local engine answers at once, by contract")
		}
		c := leasehold.New(e, leasehold.WithRequestTimeout(time.Second))
		for i := range 500 {
			take(t, c.Mutex(fmt.Sprint(i)).Lock)
		}
		resume := make(chan struct{})
		e.fail(func(call) error { <-resume; return errLost })
		began := time.Now()
		expect(t, c.Close(), leasehold.ErrUnknown)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("with a request timeout of 1s, Close took %v", took)
		}
		e.fail(nil)
		close(resume)
	})
}

func TestCloseLeavesNoTimerBehind(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := leasehold.New(e)
		take(t, c.Mutex("order").Lock)
		expect(t, c.Close(), nil)
		requests := e.sent()
		time.Sleep(10 * leasehold.DefaultTTL)
		if n := e.sent() - requests; n != 0 {
			t.Errorf("a closed client has sent %d requests", n)
		}
	})
}

// blockingObserver is an observer that blocks at the first lease in danger, and so blocks the handling of
// leases that are due at the same time.
type blockingObserver struct {
	once            sync.Once
	reached, resume chan struct{}
}

func (g *blockingObserver) ObserveDanger(leasehold.InDanger) {
	g.once.Do(func() {
		close(g.reached)
		<-g.resume
	})
}

// Leases that are being handled when the client is closed are closed like all others.
func TestCloseMissesNoLease(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		g := &blockingObserver{reached: make(chan struct{}), resume: make(chan struct{})}
		c := leasehold.New(e, leasehold.WithObserver(g))
		var leases []*leasehold.Lease
		for i := range 5 {
			leases = append(leases, take(t, c.Mutex(fmt.Sprint(i)).Lock))
		}
		e.fail(func(c call) error {
			if c.method == "Renew" {
				return errLost
			}
			return nil
		})
		<-g.reached
		closing := start(t.Context(), func(context.Context) (struct{}, error) { return struct{}{}, c.Close() })
		closing.settle()
		close(g.resume)
		closing.wantValue(t)
		synctest.Wait()
		for _, l := range leases {
			wantCause(t, l.Context(), leasehold.ErrClosed)
		}
		held, err := e.Engine.List(t.Context(), driver.Query{})
		if err != nil || len(held) != 0 {
			t.Errorf("after Close %d are held, %v", len(held), err)
		}
	})
}

func TestCloseLeavesNoGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newSpy()
		e.can.Local = false
		theirs := take(t, newClient(t, e).Mutex("order").Lock)
		set(t, newClient(t, e).Latch("start"), 1, true)
		synctest.Wait()
		others := goroutinesInside() // those of the other client
		c := leasehold.New(e)
		take(t, c.Mutex("mine").Lock)
		queueUp(t, c.Mutex("order").Lock, c.Mutex("order").Lock)
		start(t.Context(), waitFor(c.Latch("start"))).wantWaiting(t)
		if n := goroutinesInside(); n == others {
			t.Error("the test does not see the goroutines of the package")
		}
		expect(t, c.Close(), nil)
		synctest.Wait()
		if n := goroutinesInside(); n != others {
			t.Errorf("%d goroutines are left", n-others)
		}
		release(t, theirs)
	})
}

// Close need not wait for a renewal that is in flight.
func TestCloseEndsRenewals(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		if e.can.Local {
			t.Skip("a local engine answers at once, by contract")
		}
		c := leasehold.New(e)
		take(t, c.Mutex("order").Lock)
		renewing := make(chan context.Context, 1)
		e.fail(func(c call) error {
			if c.method == "Renew" {
				select {
				case renewing <- c.ctx:
				default: // one is enough
				}
				<-c.ctx.Done()
				return c.ctx.Err()
			}
			return nil
		})
		ctx := <-renewing
		wantCause(t, ctx, nil)
		expect(t, c.Close(), nil)
		wantCause(t, ctx, leasehold.ErrClosed)
	})
}

// goroutinesInside returns how many goroutines of the caller's bubble have a function of the package on their stack.
func goroutinesInside() (n int) {
	stacks := make([]byte, 1<<20)
	own := string(stacks[:runtime.Stack(stacks, false)])
	_, bubble, _ := strings.Cut(own[:strings.Index(own, "\n")], "synctest bubble")
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "synctest bubble"+bubble) &&
			strings.Contains(stack, "github.com/leasehold-go/leasehold.") {
			n++
		}
	}
	return n
}
