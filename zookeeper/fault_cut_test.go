//go:build !race || quietzk

// The client library reads a number without its lock when it reconnects. Where connections break again and again, the
// race detector sometimes sees that, and fails all tests that run. It does not affect the engine. So make race compiles
// the library without the detector, which the tag says.

package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// operation is an operation whose connection is cut. Engine a is behind the proxy, and b is not. It passes the
// operation itself to cut, which returns its result. Everything else is undisturbed. Whatever became of the operation,
// it can be repeated, and then everything is as it would be without the cut.
type operation func(t *testing.T, a, b *zookeeper.Engine, name string, cut cutFunc)

// cutFunc calls a function, cuts its connection, and returns its error.
type cutFunc func(func(context.Context) error) error

var operations = map[string]operation{
	"Take": func(t *testing.T, a, b *zookeeper.Engine, name string, cut cutFunc) {
		r := newRequest(a, name)
		var first driver.Grant
		err := cut(func(ctx context.Context) (err error) {
			first, err = a.Take(ctx, r)
			return err
		})
		if driver.IsNo(err) || driver.IsPermanent(err) {
			t.Errorf("Take of what is free: %v", err)
		}
		g := take(t, a, r)
		if err == nil && first.Token != g.Token {
			t.Errorf("the token is %d, and was %d", g.Token, first.Token)
		}
		checkOnly(t, b, name, g, 0)
		release(t, a, r)
		checkGone(t, b, name)
	},
	"Take and join": func(t *testing.T, a, b *zookeeper.Engine, name string, cut cutFunc) {
		held, r := newRequest(b, name), newRequest(a, name)
		before := take(t, b, held)
		r.Join = true
		err := cut(func(ctx context.Context) error { _, err := a.Take(ctx, r); return err })
		if err == nil || driver.IsPermanent(err) {
			t.Errorf("Take of what is held: %v", err)
		}
		w := queue(t, a, r)
		awaitWaiting(t, b, name, 1)
		checkOnly(t, b, name, before, 1)
		w.checkWaits(t)
		release(t, b, held)
		checkOnly(t, b, name, w.granted(t), 0)
		release(t, a, r)
		checkGone(t, b, name)
	},
	"Take that is given up": func(t *testing.T, a, b *zookeeper.Engine, name string, cut cutFunc) {
		r := newRequest(a, name)
		_ = cut(func(ctx context.Context) error { _, err := a.Take(ctx, r); return err })
		release(t, a, r)
		checkGone(t, b, name)
	},
	"Wait": func(t *testing.T, a, b *zookeeper.Engine, name string, cut cutFunc) {
		held, r := newRequest(b, name), newRequest(a, name)
		take(t, b, held)
		queue(t, a, r).end()
		err := cut(func(ctx context.Context) error {
			ended := time.AfterFunc(50*time.Millisecond, func() {
				_ = b.Release(context.WithoutCancel(ctx), driver.Release{Hold: holdOf(held)})
			})
			defer ended.Stop()
			_, err := a.Wait(ctx, r)
			return err
		})
		if driver.IsNo(err) || driver.IsPermanent(err) {
			t.Errorf("Wait: %v", err)
		}
		release(t, b, held)
		checkOnly(t, b, name, take(t, a, r), 0)
		release(t, a, r)
		checkGone(t, b, name)
	},
	"Renew": func(t *testing.T, a, b *zookeeper.Engine, name string, cut cutFunc) {
		r := newRequest(a, name)
		g := take(t, a, r)
		err := cut(func(ctx context.Context) error { return renew(ctx, a, r) })
		if driver.IsNo(err) || driver.IsPermanent(err) {
			t.Errorf("Renew of what is held: %v", err)
		}
		if err := renewUntilKnown(t, a, r); err != nil {
			t.Errorf("Renew again: %v", err)
		}
		checkOnly(t, b, name, g, 0)
		release(t, a, r)
		checkGone(t, b, name)
	},
	"Release": func(t *testing.T, a, b *zookeeper.Engine, name string, cut cutFunc) {
		r := newRequest(a, name)
		take(t, a, r)
		err := cut(func(ctx context.Context) error { return a.Release(ctx, driver.Release{Hold: holdOf(r)}) })
		if driver.IsPermanent(err) {
			t.Errorf("Release: %v", err)
		}
		release(t, a, r)
		checkGone(t, b, name)
		next := newRequest(b, name)
		take(t, b, next)
		release(t, b, next)
	},
	"Release to a waiter": func(t *testing.T, a, b *zookeeper.Engine, name string, cut cutFunc) {
		r := newRequest(a, name)
		take(t, a, r)
		w := queue(t, b, newRequest(b, name))
		_ = cut(func(ctx context.Context) error { return a.Release(ctx, driver.Release{Hold: holdOf(r)}) })
		release(t, a, r)
		checkOnly(t, b, name, w.granted(t), 0)
		release(t, a, r) // it has nothing to do with the next one's
		checkOnly(t, b, name, w.granted(t), 0)
		release(t, b, w.request)
		checkGone(t, b, name)
	},
	"Release that keeps": func(t *testing.T, a, b *zookeeper.Engine, name string, cut cutFunc) {
		const keep = time.Second
		r := newRequest(a, name)
		g := take(t, a, r)
		w := queue(t, b, newRequest(b, name))
		kept := driver.Release{Hold: holdOf(r), Keep: keep}
		began := time.Now()
		_ = cut(func(ctx context.Context) error { return a.Release(ctx, kept) })
		attempt(t, "Release", func(ctx context.Context) error {
			if err := a.Release(ctx, kept); !errors.Is(err, driver.ErrNotHeld) {
				return err
			}
			return nil
		})
		if n := w.granted(t); w.at.Sub(began) < keep || n.Token <= g.Token {
			t.Errorf("token %d was granted %v after the release of %d", n.Token, w.at.Sub(began), g.Token)
		}
		release(t, b, w.request)
		checkGone(t, b, name)
	},
	"Downgrade": func(t *testing.T, a, b *zookeeper.Engine, name string, cut cutFunc) {
		r, reader := newRequest(a, name), newRequest(b, name)
		reader.Mode = driver.Shared
		take(t, a, r)
		err := cut(func(ctx context.Context) error { return a.Downgrade(ctx, holdOf(r)) })
		if driver.IsNo(err) || driver.IsPermanent(err) {
			t.Errorf("Downgrade of what is held: %v", err)
		}
		attempt(t, "Downgrade", func(ctx context.Context) error { return a.Downgrade(ctx, holdOf(r)) })
		take(t, b, reader)
		if err := renewUntilKnown(t, a, r); err != nil {
			t.Errorf("Renew after the downgrade: %v", err)
		}
		release(t, a, r)
		release(t, b, reader)
		checkGone(t, b, name)
	},
}

// Each request of each operation is lost in turn, and then the reply to each.
func TestConnectionIsCutAtEachRequest(t *testing.T) {
	t.Parallel()
	s := zookeeper.SharedServer(t)
	for name, play := range operations {
		for way, action := range map[string]redisserver.Action{
			"before": redisserver.CutBefore, "after": redisserver.CutAfter,
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				p := redisserver.ProxyForTest(t, s.Addr())
				// with one address only, the library pauses before it reconnects
				a := engineOn(t, 20*time.Second, p.Addr(), p.Addr())
				b := engineOn(t, 20*time.Second, s.Addr())
				first := newRequest(b, name+", "+way) // the nodes above those of names exist from then on
				take(t, b, first)
				release(t, b, first)
				for nth, more := 0, true; more; nth++ {
					if nth > 20 {
						t.Fatal("it takes more than 20 requests")
					}
					play(t, a, b, fmt.Sprintf("%s, %s %d", name, way, nth), func(do func(context.Context) error) error {
						var err error
						err, more = cutAt(t, p, nth, action, do)
						return err
					})
				}
			})
		}
	}
}

// cutAt cuts the connection at the nth request of an operation, counted from 0, and reports whether there were that
// many.
func cutAt(
	t *testing.T, p *redisserver.Proxy, nth int, action redisserver.Action, do func(context.Context) error,
) (err error, cut bool) {
	t.Helper()
	var mu sync.Mutex
	p.Intercept(func(request []byte) redisserver.Action {
		mu.Lock()
		defer mu.Unlock()
		if !isEngineRequest(request) {
			return redisserver.Pass
		}
		if nth--; nth >= 0 || cut {
			return redisserver.Pass
		}
		cut = true
		return action
	})
	err = within(t, time.Second, do)
	p.Intercept(nil)
	mu.Lock()
	defer mu.Unlock()
	return err, cut
}

// isEngineRequest reports whether a request is one of the engine, not a connect, ping or setWatches of the library. For
// their numbers see OpCode in ZooDefs.java.
func isEngineRequest(request []byte) bool {
	const opAt, ping, auth, setWatches = 8, 11, 100, 101 // after its size and its number
	if len(request) < opAt+4 {
		return false
	}
	switch binary.BigEndian.Uint32(request[opAt:]) {
	case 0, ping, auth, setWatches:
		return false
	}
	return true
}

// checkOnly fails the test unless a name has exactly one holder, with the given grant, and that many waiters.
func checkOnly(t *testing.T, e *zookeeper.Engine, name string, g driver.Grant, waiting int) {
	t.Helper()
	seen := listName(t, e, name)
	if len(seen) != 1 || len(seen[0].Holders) != 1 || seen[0].Holders[0].Token != g.Token ||
		seen[0].Waiting != waiting {
		t.Errorf("there is %+v, want one holder with token %d, and %d who wait", seen, g.Token, waiting)
	}
}

// checkGone fails the test if anybody holds a name or waits for it, or does so soon: a request that was cut off may
// arrive late.
func checkGone(t *testing.T, e *zookeeper.Engine, name string) {
	t.Helper()
	time.Sleep(5 * time.Millisecond)
	if seen := listName(t, e, name); len(seen) != 0 {
		t.Errorf("there is %+v, want nothing", seen)
	}
}
