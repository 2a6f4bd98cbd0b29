//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// switchableEngine is an engine that can be made unavailable.
type switchableEngine struct {
	*memory.Engine
	unavailable atomic.Bool
	lists       atomic.Int64
}

func (m *switchableEngine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	m.lists.Add(1)
	if m.unavailable.Load() {
		return nil, errors.New("connection refused")
	}
	return m.Engine.List(ctx, q)
}

// withFakeClock runs a test with an engine, a client, and a command that writes to buffers.
func withFakeClock(t *testing.T, f func(t *testing.T, m *switchableEngine, c *leasehold.Client, a *app)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &switchableEngine{Engine: memory.New()}
		c := leasehold.New(m)
		f(t, m, c, &app{out: &bytes.Buffer{}, err: &bytes.Buffer{}})
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func lock(t *testing.T, c *leasehold.Client, name string) *leasehold.Lease {
	t.Helper()
	l, err := c.Mutex(name).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func wantCode(t *testing.T, err error, code int) {
	t.Helper()
	if coded, ok := errors.AsType[*exit.Error](withExitCode(err)); !ok || coded.Code != code {
		t.Errorf("%v, want exit code %d", err, code)
	}
}

func TestWaitEndsWhenTheNameIsFree(t *testing.T) {
	withFakeClock(t, func(t *testing.T, m *switchableEngine, c *leasehold.Client, a *app) {
		l := lock(t, c, "a")
		began := time.Now()
		time.AfterFunc(10*time.Second, func() { _ = l.Release() })
		if err := a.awaitFree(t.Context(), admin.New(m), waitFlags{name: "a"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 10*time.Second || took > 10*time.Second+maxPollInterval {
			t.Errorf("it took %s", took)
		}
		if n := m.lists.Load(); n > 12 {
			t.Errorf("it has looked %d times in ten seconds", n)
		}
	})
}

func TestWaitForALatch(t *testing.T) {
	withFakeClock(t, func(t *testing.T, m *switchableEngine, c *leasehold.Client, a *app) {
		latch := c.Latch("l")
		if set, err := latch.TrySet(t.Context(), 2); err != nil || !set {
			t.Fatal(set, err)
		}
		for i := range 2 {
			time.AfterFunc(time.Duration(i+1)*time.Second, func() { _, _ = latch.CountDown(context.Background()) })
		}
		began := time.Now()
		if err := a.awaitFree(t.Context(), admin.New(m), waitFlags{name: "l"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 2*time.Second || took > 2*time.Second+minPollInterval {
			t.Errorf("it took %s", took)
		}
	})
}

func TestWaitEndsWhenItsTimeIsOver(t *testing.T) {
	withFakeClock(t, func(t *testing.T, m *switchableEngine, c *leasehold.Client, a *app) {
		l := lock(t, c, "a")
		for _, limit := range []time.Duration{0, 100 * time.Millisecond, 3 * time.Second} {
			began, looks := time.Now(), m.lists.Load()
			inTime := waitFlags{name: "a", waitGiven: true, wait: period(limit)}
			wantCode(t, a.awaitFree(t.Context(), admin.New(m), inTime), exit.Held)
			if took := time.Since(began); took != limit {
				t.Errorf("--wait %s took %s", limit, took)
			}
			if limit == 0 && m.lists.Load() != looks+1 {
				t.Error("--wait 0 has looked more than once")
			}
		}
		// At the end it is not known whether the name is free.
		time.AfterFunc(time.Second, func() { m.unavailable.Store(true) })
		inTime := waitFlags{name: "a", waitGiven: true, wait: period(5 * time.Second)}
		wantCode(t, a.awaitFree(t.Context(), admin.New(m), inTime), exit.Unavailable)
		m.unavailable.Store(false)
		// A cancelled wait ends at once.
		ctx, cancel := context.WithTimeout(t.Context(), 1234*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := a.awaitFree(ctx, admin.New(m), waitFlags{name: "a"}); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(began) != 1234*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		_ = l.Release()
	})
}

func TestWaitSurvivesAnOutage(t *testing.T) {
	withFakeClock(t, func(t *testing.T, m *switchableEngine, c *leasehold.Client, a *app) {
		m.unavailable.Store(true)
		wantCode(t, a.awaitFree(t.Context(), admin.New(m), waitFlags{name: "a"}), exit.Unavailable)
		m.unavailable.Store(false)
		l := lock(t, c, "a")
		time.AfterFunc(2*time.Second, func() { m.unavailable.Store(true) })
		time.AfterFunc(20*time.Second, func() { m.unavailable.Store(false) })
		time.AfterFunc(30*time.Second, func() { _ = l.Release() })
		if err := a.awaitFree(t.Context(), admin.New(m), waitFlags{name: "a"}); err != nil {
			t.Error(err)
		}
		if got, want := fmt.Sprint(a.err),
			"leasehold: polling has failed, trying again: list: engine not available: connection refused\nleasehold: "+
				"the engine is back\n"; got != want {
			t.Errorf("it said %q, want %q", got, want)
		}
	})
}

// watchLines returns what watch prints, without the dates.
func watchLines(t *testing.T, c *admin.Client, a *app, f watchFlags, d time.Duration) (lines []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := a.watchChanges(ctx, c, f); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
	for line := range strings.Lines(fmt.Sprint(a.out)) {
		line = strings.TrimSuffix(line, "\n")
		if !f.json {
			line = strings.Join(strings.Fields(line)[1:], " ")
		}
		lines = append(lines, line)
	}
	return lines
}

func TestWatchSurvivesAnOutage(t *testing.T) {
	withFakeClock(t, func(t *testing.T, m *switchableEngine, c *leasehold.Client, a *app) {
		m.unavailable.Store(true)
		everySecond := watchFlags{interval: period(time.Second)}
		wantCode(t, a.watchChanges(t.Context(), admin.New(m), everySecond), exit.Unavailable)
		m.unavailable.Store(false)
		l := lock(t, c, "a")
		time.AfterFunc(2500*time.Millisecond, func() { m.unavailable.Store(true) })
		time.AfterFunc(5*time.Second, func() { _ = l.Release() })
		time.AfterFunc(8*time.Second, func() { m.unavailable.Store(false) })
		lines := watchLines(t, admin.New(m), a, watchFlags{interval: period(time.Second), json: true}, 10*time.Second)
		var events []string
		for _, line := range lines {
			_, rest, _ := strings.Cut(line, `"event":"`)
			event, _, _ := strings.Cut(rest, `"`)
			events = append(events, event)
		}
		if want := []string{"held", "away", "back", "released"}; !slices.Equal(events, want) {
			t.Errorf("it printed %q, want %q:\n%s", events, want, strings.Join(lines, "\n"))
		}
		if said := fmt.Sprint(a.err); strings.Count(said, "\n") != 2 || !strings.Contains(said, "polling has failed") ||
			!strings.Contains(said, "the engine is back") {
			t.Errorf("it said %q", said)
		}
	})
}

// What comes and goes between two polls is not seen, and what stays is printed once.
func TestWatchPollsAtIntervals(t *testing.T) {
	withFakeClock(t, func(t *testing.T, m *switchableEngine, c *leasehold.Client, a *app) {
		time.AfterFunc(1100*time.Millisecond, func() { _ = lock(t, c, "short").Release() })
		time.AfterFunc(2100*time.Millisecond, func() { lock(t, c, "other") })
		time.AfterFunc(3100*time.Millisecond, func() {
			l := lock(t, c, "long")
			time.AfterFunc(40*time.Second, func() { _ = l.Release() })
		})
		lines := watchLines(t, admin.New(m), a,
			watchFlags{interval: period(time.Second), kind: choice{value: "lock"}, prefix: "l"}, time.Minute)
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "granted lock long ") ||
			!strings.HasPrefix(lines[1], "released lock long ") {
			t.Errorf("it printed %q", lines)
		}
		if n := m.lists.Load(); n > 2*61 { // each poll lists pages until there are no more
			t.Errorf("it has looked %d times", n)
		}
	})
}
