package sqlite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// lockFile locks the file for writing, as a process does in the middle of a change, until the test calls the returned
// function.
func lockFile(t *testing.T, e *Engine) (leave func()) {
	t.Helper()
	if err := e.lockWriter(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.begin(t.Context(), &view{conn: e.fast}); err != nil {
		t.Fatal(err)
	}
	return func() {
		e.fast.rollback()
		e.unlockWriter()
	}
}

func TestBusyFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e, other := openFile(t, path), openFile(t, path)
	e.busyLimit = 20 * time.Millisecond
	leave := lockFile(t, other)
	_, err := e.Take(t.Context(), lock("a"))
	if !driver.HadNoEffect(err) || driver.IsPermanent(err) || !errors.Is(err, errBusy) {
		t.Errorf("Take: %v, want an error that says that nothing has happened and another try may succeed", err)
	}
	if _, err := e.List(t.Context(), driver.Query{}); err != nil {
		t.Errorf("List waits for a change: %v", err)
	}
	leave()
	mustTake(t, e, lock("a"))
}

func TestContextEndsTheWaitForAnotherProcess(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e, other := openFile(t, path), openFile(t, path)
	leave := lockFile(t, other)
	defer leave()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := e.Take(ctx, lock("a")); !driver.HadNoEffect(err) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Take: %v, want the end of the context, and that nothing has happened", err)
	}
}

func TestContextEndsTheWaitForThisProcess(t *testing.T) {
	t.Parallel()
	e := openFile(t, newPath(t))
	leave := lockFile(t, e)
	defer leave()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := e.Take(ctx, lock("a")); !driver.HadNoEffect(err) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Take: %v, want the end of the context, and that nothing has happened", err)
	}
}

func TestOthersGetTheirTurnDuringALongRenewal(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e, other := openFile(t, path), openFile(t, path)
	var batch []driver.Renewal
	for range 3 * maxRenewals {
		r := lock("a")
		r.Mode = driver.Shared
		g := mustTake(t, e, r)
		h := hold(r)
		h.Token = g.Token
		batch = append(batch, driver.Renewal{Hold: h, TTL: r.TTL})
	}
	lost := maxRenewals + 1
	batch[lost].Owner = "somebody else"
	last := len(batch) - 1
	outcomes := make(map[int]error)
	e.Renew(t.Context(), batch, func(i int, err error) {
		if _, again := outcomes[i]; again {
			t.Errorf("item %d is reported twice", i)
		}
		outcomes[i] = err
		if i == 0 {
			// The first part is committed, the last has not begun, and the file is unlocked.
			if err := other.ForceRelease(t.Context(), batch[last].Key, batch[last].Token); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range batch {
		want := error(nil)
		if i == lost || i == last {
			want = driver.ErrNotHeld
		}
		if got, reported := outcomes[i]; !reported || !errors.Is(got, want) {
			t.Errorf("item %d: %v (reported: %v), want %v", i, got, reported, want)
		}
	}
}

func TestReleaseOfAnUnknownOwnerLocksNobodyOut(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e, other := openFile(t, path), openFile(t, path)
	defer lockFile(t, other)()
	if err := e.Release(t.Context(), driver.Release{Hold: hold(lock("a"))}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release: %v, want ErrNotHeld", err)
	}
}
