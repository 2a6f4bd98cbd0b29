//go:build unix

package top

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gdamore/tcell/v3"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// fakeTTY is a fake terminal.
type fakeTTY struct {
	keys    chan string
	width   int
	drained chan struct{}

	mu    sync.Mutex
	out   bytes.Buffer // what was written last
	raw   bool
	times int // how often raw mode was set
}

func newTTY() *fakeTTY { return &fakeTTY{keys: make(chan string), width: 80} }

func (f *fakeTTY) Start() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raw, f.drained = true, make(chan struct{})
	f.times++
	return nil
}

func (f *fakeTTY) Stop() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raw = false
	return nil
}

func (f *fakeTTY) Drain() error             { close(f.drained); return nil }
func (f *fakeTTY) NotifyResize(chan<- bool) {}
func (f *fakeTTY) Close() error             { return nil }

func (f *fakeTTY) WindowSize() (tcell.WindowSize, error) {
	return tcell.WindowSize{Width: f.width, Height: 24}, nil
}

func (f *fakeTTY) Read(p []byte) (int, error) {
	select {
	case text := <-f.keys:
		if text == "gone" {
			return 0, errors.New("input/output error")
		}
		return copy(p, text), nil
	case <-f.drained:
		return 0, nil
	}
}

func (f *fakeTTY) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.out.Len() > 1<<16 {
		f.out.Reset()
	}
	return f.out.Write(p)
}

// written returns what was written since the last call.
func (f *fakeTTY) written() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.out.Reset()
	return f.out.String()
}

// wantRestored fails the test unless the terminal is as it was.
func (f *fakeTTY) wantRestored(t *testing.T) {
	t.Helper()
	text := f.written()
	if f.raw || !strings.Contains(text, "\x1b[?1049l") || !strings.Contains(text, "\x1b[?25h") ||
		strings.LastIndex(text, "\x1b[?1049h") > strings.LastIndex(text, "\x1b[?1049l") {
		t.Errorf("the terminal is left as it was used: raw %v, %q", f.raw, text)
	}
}

// slowEngine is an engine that can be slow or stuck.
type slowEngine struct {
	driver.Engine
	driver.Unsupported // Walk is all it has for operators
	mood               atomic.Int32
	walks              atomic.Int32 // how many are in flight
}

const (
	healthy = iota
	failing
	hanging
	slow  // does not end at once when it should
	stuck // nor soon
	panicking
)

func (p *slowEngine) Abilities() driver.Abilities {
	a := p.Engine.Abilities()
	a.Walk = true
	return a
}

// Walk is called in the goroutine of the caller.
func (p *slowEngine) Walk(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	p.walks.Add(1)
	defer p.walks.Add(-1)
	all, err := p.List(ctx, q)
	if err == nil && len(all) > 0 {
		visit(all)
	}
	return err
}

func (p *slowEngine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	switch p.mood.Load() {
	case failing:
		return nil, errors.New("out of order")
	case hanging:
		<-ctx.Done()
		return nil, ctx.Err()
	case slow:
		<-ctx.Done()
		time.Sleep(maxQuit / 2)
	case stuck:
		<-ctx.Done()
		time.Sleep(time.Hour)
	case panicking:
		panic("planted")
	}
	return p.Engine.List(ctx, q)
}

// withScreen runs the view in virtual time, and the test concurrently.
func withScreen(
	t *testing.T, test func(t *testing.T, tty *fakeTTY, p *slowEngine, c *leasehold.Client,
		cancel context.CancelCauseFunc, ended chan error),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &slowEngine{Engine: memory.New()}
		c := leasehold.New(p)
		defer c.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		tty, ended := newTTY(), make(chan error, 1)
		go func() {
			defer func() {
				if r := recover(); r != nil {
					ended <- fmt.Errorf("panic: %v", r)
				}
			}()
			ended <- run(ctx, admin.New(p), Options{Engine: "memory:", Interval: time.Second, Colors: true}, tty,
				&jobs{stop: make(chan os.Signal), cont: make(chan os.Signal)})
		}()
		test(t, tty, p, c, cancel, ended)
	})
}

func TestTheScreenLivesAndEnds(t *testing.T) {
	t.Parallel()
	withScreen(t, func(t *testing.T, tty *fakeTTY, p *slowEngine, c *leasehold.Client, _ context.CancelCauseFunc,
		ended chan error) {
		lease, err := c.Mutex("deploy").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if text := tty.written(); !tty.raw || !strings.Contains(text, "deploy") ||
			!strings.Contains(text, "\x1b[?1049h") {
			t.Errorf("raw %v, %q", tty.raw, text)
		} else if strings.Contains(text, "\x1b[c") || strings.Contains(text, "\x1b[>") ||
			strings.Contains(text, "$p") || strings.Contains(text, "\x1b[18t") {
			t.Errorf("the terminal was asked something: %q", text)
		}
		p.mood.Store(failing)
		time.Sleep(3 * time.Second)
		if text := tty.written(); !strings.Contains(text, "STALE") || !strings.Contains(text, "out of order") {
			t.Errorf("it does not tell that the engine fails: %q", text)
		}
		p.mood.Store(hanging)
		time.Sleep(20 * time.Second)
		p.mood.Store(healthy)
		tty.written()
		time.Sleep(20 * time.Second)
		if text := tty.written(); !strings.Contains(text, "polled") {
			t.Errorf("it does not tell that the engine is back: %q", text)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
		tty.keys <- "/"
		tty.keys <- "q"
		time.Sleep(time.Second)
		select {
		case err := <-ended:
			t.Fatalf("ended with %v", err)
		default:
		}
		tty.keys <- "\r"
		tty.keys <- "q"
		if err := <-ended; err != nil {
			t.Error(err)
		}
		tty.wantRestored(t)
	})
}

func TestQuittingWithAListingInFlight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mood int32
		left int32         // listings in flight afterwards
		most time.Duration // how long quitting takes
	}{"hanging": {hanging, 0, 0}, "slow": {slow, 0, maxQuit / 2}, "stuck": {stuck, 1, maxQuit}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withScreen(t, func(t *testing.T, tty *fakeTTY, p *slowEngine, _ *leasehold.Client,
				_ context.CancelCauseFunc, ended chan error) {
				time.Sleep(1500 * time.Millisecond)
				p.mood.Store(c.mood)
				time.Sleep(2 * time.Second)
				began := time.Now()
				tty.keys <- "\x03"
				if err := <-ended; err != nil || time.Since(began) > c.most {
					t.Errorf("%v after %s", err, time.Since(began))
				}
				if n := p.walks.Load(); n != c.left {
					t.Errorf("%d looks are under way", n)
				}
				tty.wantRestored(t)
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

func TestAnEndFromOutside(t *testing.T) {
	t.Parallel()
	cause := errors.New("a signal")
	for name, c := range map[string]struct {
		end  func(tty *fakeTTY, cancel context.CancelCauseFunc)
		want error
	}{
		"context":          {func(_ *fakeTTY, cancel context.CancelCauseFunc) { cancel(cause) }, cause},
		"terminal is gone": {func(tty *fakeTTY, _ context.CancelCauseFunc) { tty.keys <- "gone" }, ErrTerminalGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withScreen(t, func(t *testing.T, tty *fakeTTY, _ *slowEngine, _ *leasehold.Client,
				cancel context.CancelCauseFunc, ended chan error) {
				time.Sleep(1500 * time.Millisecond)
				c.end(tty, cancel)
				if err := <-ended; !errors.Is(err, c.want) {
					t.Errorf("ended with %v, want %v", err, c.want)
				}
				tty.wantRestored(t)
			})
		})
	}
}

// A panic must not leave the terminal without echo, not even a panic in the goroutine of a request.
func TestTheTerminalIsRestoredAfterAPanic(t *testing.T) {
	t.Parallel()
	withScreen(t, func(t *testing.T, tty *fakeTTY, p *slowEngine, _ *leasehold.Client, _ context.CancelCauseFunc,
		ended chan error) {
		time.Sleep(1500 * time.Millisecond)
		p.mood.Store(panicking)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "planted") {
			t.Errorf("ended with %v", err)
		}
		tty.wantRestored(t)
	})
}

// Listings, errors and opened names leave nothing behind.
func TestNothingGrowsWithTime(t *testing.T) { // alone, as it counts what the whole process has
	withScreen(t, func(t *testing.T, tty *fakeTTY, p *slowEngine, c *leasehold.Client, _ context.CancelCauseFunc,
		ended chan error) {
		goroutines, heap := 0, uint64(0)
		for minute := range 6 {
			for i := range 20 {
				lease, err := c.Mutex(fmt.Sprintf("name %d of minute %d", i, minute)).TryLock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if i%2 == 0 {
					time.Sleep(time.Second)
				}
				if err := lease.Release(); err != nil {
					t.Fatal(err)
				}
			}
			tty.keys <- "\r"
			time.Sleep(10 * time.Second)
			p.mood.Store(int32(minute % 3))
			tty.keys <- "h"
			time.Sleep(40 * time.Second)
			p.mood.Store(healthy)
			tty.keys <- "\x7f"
			synctest.Wait()
			if minute != 2 && minute != 5 {
				continue
			}
			runtime.GC()
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			if minute == 2 {
				goroutines, heap = runtime.NumGoroutine(), now.HeapAlloc
				continue
			}
			if n := runtime.NumGoroutine(); n > goroutines+3 {
				t.Errorf("%d goroutines have become %d", goroutines, n)
			}
			if now.HeapAlloc > heap+1<<19 {
				t.Errorf("%d bytes have become %d", heap, now.HeapAlloc)
			}
		}
		tty.keys <- "q"
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
