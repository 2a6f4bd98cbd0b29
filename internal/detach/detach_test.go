package detach

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

var errFailed = errors.New("failed")

func TestDoReturnsWhatTheCallReturns(t *testing.T) {
	t.Parallel()
	var p Pool
	defer p.Close()
	for _, pool := range []*Pool{&p, nil} {
		got, err := Do(t.Context(), pool, func(context.Context) (int, error) { return 7, errFailed }, nil)
		if got != 7 || err != errFailed {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if err := Run(t.Context(), &p, func(context.Context) error { return errFailed }); err != errFailed {
		t.Errorf("got %v", err)
	}
}

// The caller leaves when its context ends. What the call returns later reaches only late.
func TestDoLeavesACallThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var lateValue int
		var lateErr error
		began := time.Now()
		got, err := Do(ctx, &p, func(context.Context) (int, error) {
			time.Sleep(time.Minute)
			return 7, errFailed
		}, func(v int, err error) { lateValue, lateErr = v, err })
		if took := time.Since(began); took != time.Second {
			t.Errorf("returned after %v", took)
		}
		if got != 0 || !errors.Is(err, context.DeadlineExceeded) || !driver.IsSpent(err) || driver.HadNoEffect(err) {
			t.Errorf("got %v, %v", got, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if lateValue != 7 || lateErr != errFailed {
			t.Errorf("late: %v, %v", lateValue, lateErr)
		}
		if n := p.countIdle(); n != 0 {
			t.Errorf("%d goroutines are kept: the one that was left must end", n)
		}
	})
}

// A call that returns when the context ends is not left, if its caller waits a little.
func TestGraceLetsACallReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := Pool{Grace: time.Second}
		defer p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := Run(ctx, &p, func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second / 2)
			return errFailed
		})
		if err != errFailed {
			t.Errorf("got %v", err)
		}
		began := time.Now()
		err = Run(ctx, &p, func(context.Context) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) || !driver.HadNoEffect(err) {
			t.Errorf("with an ended context: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = Run(ctx, &p, func(context.Context) error { time.Sleep(time.Hour); return nil })
		if took := time.Since(began); took != time.Minute+time.Second || !driver.IsSpent(err) {
			t.Errorf("a call that hangs: %v after %v", err, took)
		}
		time.Sleep(time.Hour)
	})
}

// What a renewal reports after its caller has left is dropped. The caller may use its slice again.
func TestRenewDropsLateReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var reported []int
		Renew(ctx, &p, make([]driver.Renewal, 2), func(i int, err error) { reported = append(reported, i) },
			func(_ context.Context, batch []driver.Renewal, report func(int, error)) {
				report(0, nil)
				time.Sleep(time.Minute)
				report(1, nil)
			})
		time.Sleep(time.Minute)
		if len(reported) != 1 || reported[0] != 0 {
			t.Errorf("items %v were reported", reported)
		}
	})
}

func TestDoCallsNothingForAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	var p Pool
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Run(ctx, &p, func(context.Context) error { t.Error("called"); return nil })
	if !errors.Is(err, context.Canceled) || !driver.HadNoEffect(err) {
		t.Errorf("got %v", err)
	}
}

// One caller needs one goroutine, again and again. Nothing is left of a pool that is neither used nor closed.
func TestGoroutinesAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		used := map[*worker]bool{}
		for range 3 {
			w := p.get()
			used[w] = true
			p.put(w)
			p.Go(func() { time.Sleep(time.Second) })
			if n := p.countIdle(); n != 0 {
				t.Errorf("%d goroutines are idle while one is needed", n)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if n := p.countIdle(); len(used) != 1 || n != 1 {
			t.Errorf("%d goroutines served one caller, and %d are idle", len(used), n)
		}
		time.Sleep(3 * workerIdleTime) // synctest fails if a goroutine or a timer is left
		if n := p.countIdle(); n != 0 {
			t.Errorf("%d goroutines are left", n)
		}
	})
}

func TestCloseEndsGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		idle, busy := p.get(), p.get()
		p.put(idle)
		p.Close()
		p.put(busy) // becomes idle after Close
		if err := Run(t.Context(), &p, func(context.Context) error { runtime.Gosched(); return nil }); err != nil {
			t.Error(err)
		}
		if n := p.countIdle(); n != 0 {
			t.Errorf("%d goroutines are left", n)
		}
	})
}

func (p *Pool) countIdle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}
