package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

// leaksOf returns the leaks, also as text.
func leaksOf(t *testing.T, e *Engine, q driver.Query) (all []driver.Leak, texts []string) {
	t.Helper()
	err := e.Leaks(t.Context(), q, func(l driver.Leak) bool {
		all = append(all, l)
		texts = append(texts, fmt.Sprintf("%d %s of %s %s", l.Count, l.Sort, l.Kind, l.Name))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, texts
}

func wantLeaks(t *testing.T, e *Engine, q driver.Query, want ...string) []driver.Leak {
	t.Helper()
	all, texts := leaksOf(t, e, q)
	if !slices.Equal(texts, want) {
		t.Errorf("left behind are %q, want %q", texts, want)
	}
	return all
}

// leaveRows leaves leaks of each kind, and advances the clock until they count as leaks.
func leaveRows(t *testing.T, e *Engine, manual *manualClock) {
	t.Helper()
	for _, mode := range []driver.Mode{driver.Shared, driver.Shared} {
		r := lock("readers")
		r.Mode = mode
		mustTake(t, e, r)
	}
	permits := lock("permits")
	permits.Kind, permits.Size, permits.Weight = driver.Semaphore, 3, 2
	mustTake(t, e, permits)
	mustTake(t, e, lock("queue"))
	for range 3 {
		join(t, e, lock("queue"))
	}
	leaveLatch(t, e, "latch")
	manual.advance(time.Minute + leakAge - time.Microsecond)
	wantLeaks(t, e, driver.Query{}, "3 dead waiters of lock queue")
	manual.advance(time.Microsecond)
}

var leftRows = []string{
	"1 remains of lock queue", "2 remains of lock readers", "3 dead waiters of lock queue",
	"1 remains of semaphore permits", "1 remains of latch latch",
}

func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	manual := newManualClock("boot", time.Hour)
	e := openAt(t, newPath(t), manual.clock())
	leaveRows(t, e, manual)
	// Rows in use.
	mustTake(t, e, lock("held"))
	mustTake(t, e, lock("queue 2"))
	join(t, e, lock("queue 2"))

	inOrder := []string{leftRows[2], leftRows[0], leftRows[1], leftRows[3], leftRows[4]}
	wantLeaks(t, e, driver.Query{}, inOrder...)
	wantLeaks(t, e, driver.Query{Kind: driver.Lock}, inOrder[:3]...)
	wantLeaks(t, e, driver.Query{Kind: driver.Semaphore}, leftRows[3])
	wantLeaks(t, e, driver.Query{Kind: driver.Latch}, leftRows[4])
	wantLeaks(t, e, driver.Query{Prefix: "re"}, leftRows[1])
	wantLeaks(t, e, driver.Query{Name: "queue"}, leftRows[2], leftRows[0])
	wantLeaks(t, e, driver.Query{Name: "queu"})
	// Leaks are not paged.
	wantLeaks(t, e, driver.Query{After: driver.Key{Kind: driver.Latch, Name: "z"}, Limit: 1}, inOrder...)
}

func TestSweepClearsALeakAway(t *testing.T) {
	t.Parallel()
	manual := newManualClock("boot", time.Hour)
	e := openAt(t, newPath(t), manual.clock())
	leaveRows(t, e, manual)
	all, left := leaksOf(t, e, driver.Query{})
	for _, l := range all {
		if err := e.Sweep(t.Context(), l); err != nil {
			t.Errorf("Sweep of %+v: %v", l, err)
		}
		left = left[1:]
		wantLeaks(t, e, driver.Query{}, left...)
		if err := e.Sweep(t.Context(), l); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Sweep of %+v again: %v, want ErrNotHeld", l, err)
		}
	}
	for _, table := range []string{"holders", "waiters", "latches", "latch_downs"} {
		if n := countRows(t, e, table); n != 0 {
			t.Errorf("%s has %d rows, want none", table, n)
		}
	}
}

// A leak is swept only if it is as it was found.
func TestSweepSparesWhatIsInUse(t *testing.T) {
	t.Parallel()
	manual := newManualClock("boot", time.Hour)
	e := openAt(t, newPath(t), manual.clock())
	leaveRows(t, e, manual)
	all, _ := leaksOf(t, e, driver.Query{})

	reader, permits := lock("readers"), lock("permits")
	reader.Mode = driver.Shared
	mustTake(t, e, reader)
	permits.Kind, permits.Size = driver.Semaphore, 3
	mustTake(t, e, permits)
	held, waits := lock("queue"), lock("queue")
	mustTake(t, e, held)
	join(t, e, waits)
	leaveLatch(t, e, "latch") // set again
	for _, l := range all {
		if err := e.Sweep(t.Context(), l); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Sweep of %+v, which has been used again: %v, want ErrNotHeld", l, err)
		}
	}
	for table, want := range map[string]int{"holders": 3, "waiters": 1, "latches": 1, "latch_downs": 2} {
		if n := countRows(t, e, table); n != want {
			t.Errorf("%s has %d rows, want %d", table, n, want)
		}
	}

	// A later leak of the same name is another one.
	manual.advance(time.Hour)
	for _, l := range all {
		if err := e.Sweep(t.Context(), l); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Sweep of %+v, in whose place there is another: %v, want ErrNotHeld", l, err)
		}
	}
	if _, again := leaksOf(t, e, driver.Query{}); len(again) != len(all) {
		t.Errorf("left behind are %q", again)
	}
}

// Rows that have only just expired may still be removed by another user of the name. No leak can be forged from them.
func TestSweepSparesWhatHasOnlyJustEnded(t *testing.T) {
	t.Parallel()
	manual := newManualClock("boot", time.Hour)
	e := openAt(t, newPath(t), manual.clock())
	r := lock("a")
	r.TTL = waiterTTL
	mustTake(t, e, r)
	join(t, e, lock("a"))
	set := driver.LatchSet{Name: "a", ID: "set", Count: 3, TTL: waiterTTL}
	if _, err := e.TrySet(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	state, err := e.LatchState(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	manual.advance(waiterTTL + leakAge - time.Microsecond)
	for _, l := range []driver.Leak{
		{Key: r.Key, Sort: driver.Remains, Mark: "1000"},
		{Key: r.Key, Sort: driver.DeadWaiters, Mark: "1000"},
		{Key: driver.Key{Kind: driver.Latch, Name: "a"}, Sort: driver.Remains, Mark: fmt.Sprint(state.Generation)},
	} {
		if err := e.Sweep(t.Context(), l); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Sweep of %+v, which is none yet: %v, want ErrNotHeld", l, err)
		}
	}
	manual.advance(time.Microsecond)
	wantLeaks(t, e, driver.Query{}, "1 dead waiters of lock a", "1 remains of lock a", "1 remains of latch a")
}

// A waiter that counts as dead, because its process was delayed, and then refreshes keeps its place.
func TestSweepSparesAWaiterThatComesBack(t *testing.T) {
	t.Parallel()
	manual := newManualClock("boot", time.Hour)
	e := openAt(t, newPath(t), manual.clock())
	mustTake(t, e, lock("a"))
	dead, back := lock("a"), lock("a")
	join(t, e, dead)
	join(t, e, back)
	manual.advance(waiterTTL + leakAge)
	found := wantLeaks(t, e, driver.Query{}, "2 dead waiters of lock a")
	var seq int64
	if err := e.read(t.Context(), func(v *view) error {
		return v.row([]any{&seq}, "SELECT seq FROM waiters WHERE owner = ?", back.Owner)
	}); err != nil {
		t.Fatal(err)
	}
	if err := e.extendWaiters(fmt.Sprintf("[%d]", seq), func(int64) {}); err != nil {
		t.Fatal(err)
	}
	if err := e.Sweep(t.Context(), found[0]); err != nil {
		t.Errorf("Sweep of the one that is dead: %v", err)
	}
	if n := countRows(t, e, "waiters"); n != 1 {
		t.Errorf("%d wait, want one", n)
	}
	wantLeaks(t, e, driver.Query{})
}

func TestManyLeaks(t *testing.T) {
	t.Parallel()
	manual := newManualClock("boot", time.Hour)
	e := openAt(t, newPath(t), manual.clock())
	const many = 2*paging.PageSize + 7
	err := e.change(t.Context(), e.fast, func(v *view) error {
		_, err := v.exec(`
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO holders (kind, name, token, tokens, owner, mode, weight, ttl, expires, holder)
			SELECT 1, printf('name-%04d', i), i, 1, 'owner', 0, 1, 1, 1, 'test' FROM n`, many)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := leaksOf(t, e, driver.Query{})
	if len(all) != many || !slices.IsSortedFunc(all, func(a, b driver.Leak) int { return a.Compare(b.Key) }) {
		t.Errorf("%d are visited, want %d", len(all), many)
	}
	// All leaks may be swept while they are visited.
	calls := 0
	err = e.Leaks(t.Context(), driver.Query{}, func(l driver.Leak) bool {
		if calls++; calls%100 == 0 {
			if err := e.Sweep(t.Context(), l); err != nil {
				t.Error(err)
			}
		}
		return calls < 1500
	})
	if err != nil || calls != 1500 || countRows(t, e, "holders") != many-15 {
		t.Errorf("after %d calls there are %d left, %v", calls, countRows(t, e, "holders"), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = e.Leaks(ctx, driver.Query{Prefix: "name-19"}, func(driver.Leak) bool { cancel(); return true })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Leaks whose context has ended meanwhile: %v", err)
	}
}
