package sqlite

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// manualClock is a clock that a test advances.
type manualClock struct {
	boot string
	now  atomic.Int64
}

func (h *manualClock) clock() clock            { return clock{boot: h.boot, now: h.now.Load} }
func (h *manualClock) advance(d time.Duration) { h.now.Add(micros(d)) }

func newManualClock(boot string, start time.Duration) *manualClock {
	h := &manualClock{boot: boot}
	h.now.Store(micros(start))
	return h
}

func TestMicrosNeverShorten(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int64{
		0:                    0,
		1:                    1,
		time.Microsecond:     1,
		time.Microsecond + 1: 2,
		math.MaxInt64:        math.MaxInt64/1000 + 1,
	} {
		if got := micros(d); got != want {
			t.Errorf("micros(%d ns) = %d, want %d", d, got, want)
		}
	}
}

func TestLeaseEndsByTheClock(t *testing.T) {
	t.Parallel()
	path, manual := newPath(t), newManualClock("first", time.Hour)
	e, other := openAt(t, path, manual.clock()), openAt(t, path, manual.clock())
	r := lock("a")
	mustTake(t, e, r)
	manual.advance(r.TTL - time.Microsecond)
	if _, err := other.Take(t.Context(), lock("a")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take before the end: %v, want ErrHeld", err)
	}
	manual.advance(time.Microsecond)
	mustTake(t, other, lock("a"))
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release by the old holder: %v, want ErrNotHeld", err)
	}
}

func TestRestartOfTheMachine(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	// The clock of the second start is far behind that of the first.
	first, second := newManualClock("first", 1000*time.Hour), newManualClock("second", time.Second)
	before, err := open(path, first.clock())
	if err != nil {
		t.Fatal(err)
	}
	held, kept, waiting := lock("held"), lock("kept"), lock("held")
	mustTake(t, before, held)
	mustTake(t, before, kept)
	if err := before.Release(t.Context(), driver.Release{Hold: hold(kept), Keep: time.Hour}); err != nil {
		t.Fatal(err)
	}
	waiting.Join = true
	if _, err := before.Take(t.Context(), waiting); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	latch := driver.LatchSet{Name: "latch", ID: "1", Count: 1, TTL: time.Minute}
	if _, err := before.TrySet(t.Context(), latch); err != nil {
		t.Fatal(err)
	}
	first.advance(held.TTL - time.Second) // most of the lease is over
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}

	after := openAt(t, path, second.clock())
	page, err := after.List(t.Context(), driver.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page) != 3 {
		t.Fatalf("%d entries after the restart, want 3: %+v", len(page), page)
	}
	for i, ttl := range []time.Duration{held.TTL, time.Hour} {
		if got := page[i].Holders[0]; got.TTL != ttl || got.Age >= 0 {
			t.Errorf("%s has a lease of %v and an age of %v, want %v and none", page[i].Name, got.TTL, got.Age, ttl)
		}
		if page[i].Waiting != 0 {
			t.Errorf("%s has %d waiters, want none", page[i].Name, page[i].Waiting)
		}
	}
	if got := page[2].Latch.TTL; got != time.Minute {
		t.Errorf("the latch lives for %v, want a minute", got)
	}
	second.advance(held.TTL)
	mustTake(t, after, lock("held"))
}

func TestAnotherKernelIsNoticed(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e := openAt(t, path, newManualClock("first", time.Hour).clock())
	mustTake(t, e, lock("a"))
	openAt(t, path, newManualClock("second", time.Hour).clock())
	if _, err := e.Take(t.Context(), lock("b")); !driver.IsPermanent(err) || !errors.Is(err, errBoot) {
		t.Errorf("Take: %v, want a permanent error that tells of another start of the machine", err)
	}
}

// TestTokensSurvivePowerLoss loses everything that was not flushed: it sets the file back to its state when the mark
// was last raised.
func TestTokensSurvivePowerLoss(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	var last uint64
	for start := range 3 {
		boot := newManualClock(string(rune('a'+start)), time.Hour).clock()
		e, err := open(path, boot)
		if err != nil {
			t.Fatal(err)
		}
		flushed := copyOf(t, path)
		for range 3 * maxTokens / 1000 {
			r := lock("a")
			r.Tokens = 1000
			g := mustTake(t, e, r)
			if g.Token <= last {
				t.Fatalf("start %d: token %d after %d", start, g.Token, last)
			}
			last = g.Token + uint64(g.Tokens) - 1
			mustRelease(t, e, r)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		path = flushed
	}
}

func TestTokensBeyondTheMark(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e := openFile(t, path)
	// An engine whose flushed commits fail, as on a full disk.
	flushed := e.durable
	e.durable = &conn{db: e.db, flush: flushAlways + "; nonsense"}
	r := lock("a")
	r.Tokens = maxTokens
	var last uint64
	for range tokenStep / maxTokens {
		g := mustTake(t, e, r)
		last = g.Token + uint64(g.Tokens) - 1
		mustRelease(t, e, r)
	}
	if _, err := e.Take(t.Context(), r); err == nil || !driver.HadNoEffect(err) {
		t.Fatalf("Take beyond the mark, which could not be raised: %v", err)
	}
	e.durable = flushed
	if g := mustTake(t, e, r); g.Token != last+1 {
		t.Errorf("token %d after the mark was raised, want %d", g.Token, last+1)
	}
}

func TestTokensEnd(t *testing.T) {
	t.Parallel()
	e := openFile(t, newPath(t))
	err := e.change(t.Context(), e.fast, func(v *view) error {
		_, err := v.exec("UPDATE meta SET last = ?1, mark = ?1", int64(driver.MaxToken-10))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Take(t.Context(), lock("a")); !driver.IsPermanent(err) || !errors.Is(err, errSpent) {
		t.Errorf("Take: %v, want a permanent error that says that tokens are spent", err)
	}
}

// Each restart of the machine skips tokens, but never beyond the largest.
func TestRestartsDoNotPassTheLargestToken(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e, err := open(path, newManualClock("0", time.Hour).clock())
	if err != nil {
		t.Fatal(err)
	}
	err = e.change(t.Context(), e.fast, func(v *view) error {
		_, err := v.exec("UPDATE meta SET last = ?1, mark = ?1 + ?2", int64(driver.MaxToken-2*tokenStep), tokenStep)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if e, err = open(path, newManualClock(fmt.Sprint("boot ", i), time.Hour).clock()); err != nil {
			t.Fatal(err)
		}
		g, err := e.Take(t.Context(), lock(fmt.Sprint(i)))
		if g.Token > driver.MaxToken || (err == nil) != (g.Token != 0) {
			t.Errorf("token %d, %v", g.Token, err)
		}
	}
	e.Close()
}

func TestLatchesAreFlushed(t *testing.T) {
	t.Parallel()
	e := openFile(t, newPath(t))
	set := driver.LatchSet{Name: "a", ID: "1", Count: 1, TTL: time.Minute}
	if _, err := e.TrySet(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	var fast, durable int
	if err := e.fast.row([]any{&fast}, "PRAGMA synchronous"); err != nil {
		t.Fatal(err)
	}
	if err := e.durable.row([]any{&durable}, "PRAGMA synchronous"); err != nil {
		t.Fatal(err)
	}
	if fast != 1 || durable != 2 {
		t.Errorf("synchronous is %d and %d, want 1 (NORMAL) and 2 (FULL)", fast, durable)
	}
	flushed := e.durable
	e.durable = &conn{db: e.db, flush: flushAlways + "; nonsense"}
	defer func() { e.durable = flushed }()
	if _, err := e.TrySet(t.Context(), driver.LatchSet{Name: "b", ID: "1", Count: 1, TTL: time.Minute}); err == nil {
		t.Error("TrySet did without the connection that flushes")
	}
	if _, err := e.CountDown(t.Context(), driver.LatchDown{Name: "a", ID: "1", TTL: time.Minute}); err == nil {
		t.Error("CountDown did without the connection that flushes")
	}
}

func TestWallClockFlushesAlways(t *testing.T) {
	t.Parallel()
	e := openAt(t, newPath(t), newManualClock(wallClock, time.Hour).clock())
	if e.fast.flush != flushAlways {
		t.Errorf("changes are flushed %s, want %s: a restart would not be noticed", e.fast.flush, flushAlways)
	}
}

// copyOf copies the file and its log as they are, as to another machine.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		// Read by another process: closing the file in this one would drop its locks.
		if err := copyFile(t, path+suffix, to+suffix); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(to); err != nil {
		t.Fatal(err)
	}
	return to
}

func copyFile(t *testing.T, from, to string) error {
	p := start(t, "copy", from, to)
	return p.Wait()
}
