package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

func reader(owner string) driver.Request {
	r := request("name", owner)
	r.Mode = driver.Shared
	return r
}

// However a lock becomes free, all waiters that fit are woken at that moment.
func TestWhatWakesSleepingReaders(t *testing.T) {
	t.Parallel()
	first := request("name", "first")
	for what, free := range map[string]func(e *memory.Engine, g driver.Grant) error{
		"Release": func(e *memory.Engine, _ driver.Grant) error {
			return e.Release(context.Background(), driver.Release{Hold: hold(first)})
		},
		"Downgrade": func(e *memory.Engine, _ driver.Grant) error {
			return e.Downgrade(context.Background(), hold(first))
		},
		"ForceRelease": func(e *memory.Engine, g driver.Grant) error {
			return e.ForceRelease(context.Background(), first.Key, g.Token)
		},
		"the end of the lease": func(*memory.Engine, driver.Grant) error {
			time.Sleep(first.TTL)
			return nil
		},
		"the end of a Keep": func(e *memory.Engine, _ driver.Grant) error {
			err := e.Release(context.Background(), driver.Release{Hold: hold(first), Keep: time.Second})
			time.Sleep(time.Second)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := memory.New()
				g := take(t, e, first)
				granted := make(chan error, 3)
				for _, owner := range []string{"second", "third", "fourth"} {
					go func() {
						_, err := e.Wait(t.Context(), reader(owner))
						granted <- err
					}()
				}
				synctest.Wait()
				if err := free(e, g); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(granted) != cap(granted) {
					t.Fatalf("%d of %d readers were let in", len(granted), cap(granted))
				}
				for range cap(granted) {
					if err := <-granted; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

func TestCancelledWriterWakesReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		take(t, e, reader("first"))
		ctx, cancel := context.WithCancel(t.Context())
		go e.Wait(ctx, request("name", "writer"))
		synctest.Wait()
		granted := make(chan error, 1)
		go func() {
			_, err := e.Wait(t.Context(), reader("second"))
			granted <- err
		}()
		synctest.Wait()
		if len(granted) != 0 {
			t.Fatal("a reader has overtaken the writer")
		}
		cancel()
		synctest.Wait()
		if len(granted) != 1 {
			t.Error("the reader sleeps on")
		}
	})
}

func TestWhatWakesLatchWaiters(t *testing.T) {
	t.Parallel()
	set := driver.LatchSet{Name: "latch", ID: "set", Count: 2, TTL: time.Minute}
	down := func(e *memory.Engine, id string, ttl time.Duration) error {
		_, err := e.CountDown(context.Background(), driver.LatchDown{Name: "latch", ID: id, TTL: ttl})
		return err
	}
	for what, c := range map[string]struct {
		change func(e *memory.Engine) error
		after  time.Duration
		want   error
	}{
		"zero": {
			func(e *memory.Engine) error { return errors.Join(down(e, "1", time.Hour), down(e, "2", time.Hour)) },
			0, nil,
		},
		"the end of its time": {
			func(*memory.Engine) error { return nil },
			time.Minute, driver.ErrNotSet,
		},
		"a time that became shorter": {
			func(e *memory.Engine) error { return down(e, "1", time.Second) },
			time.Second, driver.ErrNotSet,
		},
		"a time that became longer": {
			func(e *memory.Engine) error { return down(e, "1", time.Hour) },
			time.Hour, driver.ErrNotSet,
		},
		"a TrySet that was repeated": {
			func(e *memory.Engine) error {
				longer := set
				longer.TTL = 2 * time.Hour
				_, err := e.TrySet(context.Background(), longer)
				return err
			},
			2 * time.Hour, driver.ErrNotSet,
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := memory.New()
				if ok, err := e.TrySet(t.Context(), set); !ok || err != nil {
					t.Fatal(ok, err)
				}
				st, err := e.LatchState(t.Context(), set.Name)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				done := make(chan error, 1)
				go func() { done <- e.WaitLatch(t.Context(), set.Name, st.Generation) }()
				synctest.Wait()
				if waiting := latchWaiters(t, e); waiting != 1 {
					t.Errorf("listed %d waiting, want 1", waiting)
				}
				if err := c.change(e); err != nil {
					t.Fatal(err)
				}
				if err := <-done; !errors.Is(err, c.want) || time.Since(began) != c.after {
					t.Errorf("WaitLatch: %v after %v, want %v after %v", err, time.Since(began), c.want, c.after)
				}
				if waiting := latchWaiters(t, e); waiting != 0 {
					t.Errorf("listed %d waiting, want none", waiting)
				}
			})
		})
	}
}

func latchWaiters(t *testing.T, e *memory.Engine) (n int) {
	t.Helper()
	page, err := e.List(t.Context(), driver.Query{Kind: driver.Latch})
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range page {
		n += st.Waiting
	}
	return n
}

func TestNoTimerIsLeftByLatchWaiters(t *testing.T) {
	t.Parallel()
	clock := &countingClock{Clock: memory.NewManualClock(time.Unix(0, 0))}
	e := memory.New(memory.WithClock(clock))
	set := driver.LatchSet{Name: "latch", ID: "set", Count: 1, TTL: time.Minute}
	if ok, err := e.TrySet(t.Context(), set); !ok || err != nil {
		t.Fatal(ok, err)
	}
	st, err := e.LatchState(t.Context(), set.Name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.WaitLatch(ctx, set.Name, st.Generation); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitLatch with an ended context: %v", err)
	}
	if clock.pending != 0 {
		t.Errorf("%d timers are left", clock.pending)
	}
}
