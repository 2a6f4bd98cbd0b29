package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// join queues an owner for a name that somebody holds.
func join(t *testing.T, e *Engine, r driver.Request) driver.Request {
	t.Helper()
	r.Join = true
	if _, err := e.Take(t.Context(), r); !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take: %v, want ErrHeld", err)
	}
	return r
}

// waitFor waits in a goroutine.
func waitFor(ctx context.Context, e *Engine, r driver.Request) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := e.Wait(ctx, r)
		done <- err
	}()
	return done
}

func (w *watcher) isActive() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.active
}

func TestNothingRunsWhileNobodyWaits(t *testing.T) {
	t.Parallel()
	e := openFile(t, newPath(t))
	holder := lock("a")
	mustTake(t, e, holder)
	if e.watcher.isActive() {
		t.Error("the watcher runs although nobody waits")
	}
	done := waitFor(t.Context(), e, lock("a"))
	eventually(t, "the watcher runs", e.watcher.isActive)
	mustRelease(t, e, holder)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	eventually(t, "the watcher ends", func() bool { return !e.watcher.isActive() })
}

func TestLivingWaiterKeepsItsPlace(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e, other := openFile(t, path), openFile(t, path)
	holder := lock("a")
	mustTake(t, e, holder)
	first := waitFor(t.Context(), e, join(t, e, lock("a")))
	<-time.After(waiterTTL + refreshEvery) // a dead one would be skipped now
	second := waitFor(t.Context(), other, join(t, other, lock("a")))
	mustRelease(t, e, holder)
	select {
	case err := <-first:
		if err != nil {
			t.Error(err)
		}
	case err := <-second:
		t.Errorf("the second was served first (%v)", err)
	}
}

func TestWaiterThatNeverWaitsIsSkipped(t *testing.T) {
	t.Parallel()
	path, manual := newPath(t), newManualClock("boot", time.Hour)
	e := openAt(t, path, manual.clock())
	holder := lock("a")
	mustTake(t, e, holder)
	join(t, e, lock("a"))
	mustRelease(t, e, holder)
	if _, err := e.Take(t.Context(), lock("a")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take while another waits: %v, want ErrHeld", err)
	}
	manual.advance(waiterTTL)
	mustTake(t, e, lock("a"))
	if n := countRows(t, e, "waiters"); n != 0 {
		t.Errorf("%d waiters are left, want none", n)
	}
}

func TestLostPlaceIsTakenAnew(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e, other := openFile(t, path), openFile(t, path)
	holder := lock("a")
	mustTake(t, e, holder)
	done := waitFor(t.Context(), e, lock("a"))
	eventually(t, "it waits", func() bool { return countRows(t, e, "waiters") == 1 })
	// Another process counts it as dead, as after a long suspension.
	err := other.change(t.Context(), other.fast, func(v *view) error {
		_, err := v.exec("DELETE FROM waiters")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it waits again", func() bool { return countRows(t, e, "waiters") == 1 })
	mustRelease(t, e, holder)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestEndedWaitDoesNothingMore(t *testing.T) {
	t.Parallel()
	path, manual := newPath(t), newManualClock("boot", time.Hour)
	e := openAt(t, path, manual.clock())
	holder := lock("a")
	mustTake(t, e, holder)
	ctx, cancel := context.WithCancel(t.Context())
	done := waitFor(ctx, e, join(t, e, lock("a")))
	eventually(t, "the watcher runs", e.watcher.isActive)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || driver.HadNoEffect(err) {
		t.Errorf("Wait: %v, want the end of the context, and that something may be left behind", err)
	}
	eventually(t, "the watcher ends", func() bool { return !e.watcher.isActive() })
	mustRelease(t, e, holder)
	manual.advance(waiterTTL)
	mustTake(t, e, lock("a"))
}

func TestReadersEnterTogether(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	engines := []*Engine{openFile(t, path), openFile(t, path), openFile(t, path)}
	writer := lock("a")
	mustTake(t, engines[0], writer)
	var done []<-chan error
	for i := range 3 * len(engines) {
		r := lock("a")
		r.Mode = driver.Shared
		e := engines[i%len(engines)]
		done = append(done, waitFor(t.Context(), e, join(t, e, r)))
	}
	mustRelease(t, engines[0], writer)
	for _, d := range done {
		if err := <-d; err != nil { // nobody releases, so all hold together
			t.Error(err)
		}
	}
}

// TestThousandsWait has one engine wait for many names and for one name many times.
func TestThousandsWait(t *testing.T) {
	t.Parallel()
	const names, each = 500, 2
	path := newPath(t)
	e, other := openFile(t, path), openFile(t, path)
	var holders []driver.Request
	var wg sync.WaitGroup
	for i := range names {
		holder := lock(fmt.Sprint("name-", i))
		mustTake(t, other, holder)
		holders = append(holders, holder)
		for range each {
			r := join(t, e, lock(holder.Name))
			wg.Go(func() {
				if _, err := e.Wait(t.Context(), r); err != nil {
					t.Error(err)
					return
				}
				mustReleaseAsync(t, e, r)
			})
		}
	}
	for _, holder := range holders {
		mustRelease(t, other, holder)
	}
	wg.Wait()
	if n := countRows(t, e, "holders") + countRows(t, e, "waiters"); n != 0 {
		t.Errorf("%d rows are left, want none", n)
	}
}

// mustReleaseAsync is mustRelease for goroutines other than the test's.
func mustReleaseAsync(t *testing.T, e *Engine, r driver.Request) {
	if err := e.Release(context.Background(), driver.Release{Hold: hold(r)}); err != nil {
		t.Error(err)
	}
}

// TestDelayedProcessKeepsItsPlace has all waiters count as dead for a moment, until their process refreshes them.
func TestDelayedProcessKeepsItsPlace(t *testing.T) {
	t.Parallel()
	path, manual := newPath(t), newManualClock("boot", time.Hour)
	e := openAt(t, path, manual.clock())
	holder := lock("a")
	mustTake(t, e, holder)
	done := waitFor(t.Context(), e, join(t, e, lock("a")))
	eventually(t, "the watcher runs", e.watcher.isActive)
	manual.advance(waiterTTL)
	mustRelease(t, e, holder) // while the waiter counts as dead
	for range 8 {             // the clock advances no faster than the process refreshes
		var err error
		served := false
		eventually(t, "the place is refreshed, or served", func() bool {
			select {
			case err = <-done:
				served = true
			default:
			}
			return served || aliveUntil(t, e) >= manual.now.Load()+micros(waiterTTL)
		})
		if served {
			if err != nil {
				t.Error(err)
			}
			return
		}
		manual.advance(waiterTTL / 2)
	}
	t.Error("a waiter whose place was refreshed is never served")
}

// aliveUntil returns until when the only waiter counts as alive, or 0 if there is none.
func aliveUntil(t *testing.T, e *Engine) (until int64) {
	t.Helper()
	err := e.read(t.Context(), func(v *view) error {
		return v.row([]any{&until}, "SELECT coalesce(max(alive_until), 0) FROM waiters")
	})
	if err != nil {
		t.Fatal(err)
	}
	return until
}
