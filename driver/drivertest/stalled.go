package drivertest

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// RunStalled checks that each method of an engine returns when its context ends, although its servers do not answer.
// open opens an engine; RunStalled uses it, and then calls stall, after which the servers must not answer until the
// test ends. Patience is how long after its context a method may return; zero means 5 seconds.
func RunStalled(t *testing.T, open func(t *testing.T) driver.Engine, stall func(t *testing.T), patience time.Duration) {
	t.Helper()
	runStalled(t, open, stall, patience, false)
}

// RunStalledAtFirst is [RunStalled] for an engine that is opened when the servers do not answer already, so it knows
// nothing about them.
func RunStalledAtFirst(
	t *testing.T, open func(t *testing.T) driver.Engine, stall func(t *testing.T), patience time.Duration,
) {
	t.Helper()
	runStalled(t, open, stall, patience, true)
}

func runStalled(
	t *testing.T, open func(t *testing.T) driver.Engine, stall func(t *testing.T), patience time.Duration, atFirst bool,
) {
	t.Helper()
	if patience == 0 {
		patience = 5 * time.Second
	}
	e := newEnv(t, Harness{
		Start: func(*testing.T) Environment { return Environment{Open: open} },
		TTL:   time.Minute, Patience: 4 * patience,
	})
	engine := e.open()
	held, waiter := e.lock("held"), e.joining(e.lock("held"))
	e.take(engine, held)
	if _, err := engine.Take(e.ctx, waiter); err == nil {
		t.Fatal("a lock that is held was granted")
	}
	var reader driver.Request
	if e.can.Shared {
		reader = e.reader("shared")
		e.take(engine, reader)
	}
	stall(t)
	if atFirst {
		engine = open(t)
	}
	for name, call := range e.stalledCalls(engine, held, waiter, reader) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, cancelled := range []bool{true, false} {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				if cancelled { // without a deadline
					cancel()
					ctx, cancel = context.WithCancel(t.Context())
					time.AfterFunc(50*time.Millisecond, cancel)
				}
				returned := make(chan error, 1)
				go func() { returned <- call(ctx) }()
				select {
				case err := <-returned:
					if err == nil {
						t.Error("it succeeded, although no server answers")
					}
				case <-time.After(patience):
					t.Errorf("after its context had ended (cancelled: %v) it did not return within %v", cancelled,
						patience)
				}
				cancel()
			}
		})
	}
}

// joining returns the request with Join set.
func (e *env) joining(r driver.Request) driver.Request {
	r.Join = true
	return r
}

// stalledCalls returns a call of each method that the engine has.
func (e *env) stalledCalls(
	engine driver.Engine, held, waiter, reader driver.Request,
) map[string]func(context.Context) error {
	renew := func(ctx context.Context, r driver.Request) error {
		err := errors.New("not reported")
		batch := []driver.Renewal{{Hold: holdOf(r), TTL: e.long}}
		engine.Renew(ctx, batch, func(_ int, reported error) { err = reported })
		return err
	}
	calls := map[string]func(context.Context) error{
		"Take": func(ctx context.Context) error { _, err := engine.Take(ctx, e.lock("free")); return err },
		"TakeToJoin": func(ctx context.Context) error {
			_, err := engine.Take(ctx, e.joining(e.lock("held")))
			return err
		},
		"TakeOfTokens": func(ctx context.Context) error {
			r := e.lock("free")
			r.Tokens = 10
			_, err := engine.Take(ctx, r)
			return err
		},
		"Wait":    func(ctx context.Context) error { _, err := engine.Wait(ctx, waiter); return err },
		"Renew":   func(ctx context.Context) error { return renew(ctx, held) },
		"Release": func(ctx context.Context) error { return engine.Release(ctx, driver.Release{Hold: holdOf(held)}) },
		"ReleaseOfAWaiter": func(ctx context.Context) error {
			return engine.Release(ctx, driver.Release{Hold: holdOf(waiter)})
		},
		"List": func(ctx context.Context) error { _, err := engine.List(ctx, driver.Query{}); return err },
		"ListOfOne": func(ctx context.Context) error {
			_, err := engine.List(ctx, driver.Query{Name: held.Name})
			return err
		},
	}
	if e.can.Shared {
		calls["RenewShared"] = func(ctx context.Context) error { return renew(ctx, reader) }
	}
	if e.can.Semaphores {
		calls["TakePermits"] = func(ctx context.Context) error {
			_, err := engine.Take(ctx, e.permits("permits", 5, 2))
			return err
		}
	}
	e.addOptionalCalls(calls, engine, held)
	return calls
}

// addOptionalCalls adds a call of each method of the optional interfaces that the engine has.
func (e *env) addOptionalCalls(
	calls map[string]func(context.Context) error, engine driver.Engine, held driver.Request,
) {
	if e.can.Shared {
		calls["Downgrade"] = func(ctx context.Context) error { return engine.Downgrade(ctx, holdOf(held)) }
	}
	if a, ok := engine.(driver.AllTaker); ok {
		calls["TakeAll"] = func(ctx context.Context) error { _, err := a.TakeAll(ctx, e.locks("x", "y")); return err }
	}
	if x, ok := engine.(driver.Exchanger); ok {
		calls["Exchange"] = func(ctx context.Context) error {
			_, released, err := x.Exchange(ctx, driver.Release{Hold: holdOf(held)}, e.byNewOwner(held))
			return cmp.Or(released, err)
		}
	}
	if l, ok := engine.(driver.Latcher); ok {
		calls["TrySet"] = func(ctx context.Context) error {
			_, err := l.TrySet(ctx, driver.LatchSet{Name: e.prefix + "latch", ID: "a", Count: 1, TTL: e.long})
			return err
		}
		calls["CountDown"] = func(ctx context.Context) error {
			_, err := l.CountDown(ctx, driver.LatchDown{Name: e.prefix + "latch", ID: "b", TTL: e.long})
			return err
		}
		calls["LatchState"] = func(ctx context.Context) error {
			_, err := l.LatchState(ctx, e.prefix+"latch")
			return err
		}
		calls["WaitLatch"] = func(ctx context.Context) error { return l.WaitLatch(ctx, e.prefix+"latch", 1) }
	}
	if k, ok := engine.(driver.DataKeeper); ok {
		calls["SetData"] = func(ctx context.Context) error {
			data := driver.Data{Value: []byte("x"), Token: 1, Number: 1}
			return k.SetData(ctx, driver.DataSet{Hold: holdOf(held), Data: data})
		}
		calls["Data"] = func(ctx context.Context) error { _, err := k.Data(ctx, held.Name); return err }
	}
	o := driver.OperatorOf(engine) // it answers at once what it does not support
	calls["ForceRelease"] = func(ctx context.Context) error { return o.ForceRelease(ctx, held.Key, 1) }
	calls["Walk"] = func(ctx context.Context) error {
		return o.Walk(ctx, driver.Query{Limit: 10}, func([]driver.Status) bool { return true })
	}
	calls["Leaks"] = func(ctx context.Context) error {
		return o.Leaks(ctx, driver.Query{}, func(driver.Leak) bool { return true })
	}
	calls["Record"] = func(ctx context.Context) error {
		return o.Record(ctx, driver.Removal{ID: "1", At: time.Now(), Key: held.Key, Token: 1, By: "a"})
	}
	calls["Records"] = func(ctx context.Context) error { _, err := o.Records(ctx, 10); return err }
}
