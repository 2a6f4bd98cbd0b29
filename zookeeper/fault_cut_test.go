//go:build !race || quietzk

// The client of ZooKeeper reads a number without its lock when it connects again. Where connections break again and again, the race detector sees that
// now and then, and blames all tests that run. It does no harm to the engine. So make race compiles the client without the detector, and says so with a tag.

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

// scene is an operation whose connection is cut. Engine a is behind the proxy, and b is not. What cut calls is the operation; it returns what that
// has returned, and everything else is undisturbed. Whatever became of the operation, it can be repeated, and all is as it would be without the cut.
type scene func(t *testing.T, a, b *zookeeper.Engine, name string, cut func(func(context.Context) error) error)

var scenes = map[string]scene{
	"Take": func(t *testing.T, a, b *zookeeper.Engine, name string, cut func(func(context.Context) error) error) {
		r := wish(a, name)
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
		only(t, b, name, g, 0)
		release(t, a, r)
		gone(t, b, name)
	},
	"Take and join": func(t *testing.T, a, b *zookeeper.Engine, name string, cut func(func(context.Context) error) error) {
		held, r := wish(b, name), wish(a, name)
		before := take(t, b, held)
		r.Join = true
		if err := cut(func(ctx context.Context) error { _, err := a.Take(ctx, r); return err }); err == nil || driver.IsPermanent(err) {
			t.Errorf("Take of what is held: %v", err)
		}
		w := queue(t, a, r)
		awaitWaiting(t, b, name, 1)
		only(t, b, name, before, 1)
		w.waits(t)
		release(t, b, held)
		only(t, b, name, w.granted(t), 0)
		release(t, a, r)
		gone(t, b, name)
	},
	"Take that is given up": func(t *testing.T, a, b *zookeeper.Engine, name string, cut func(func(context.Context) error) error) {
		r := wish(a, name)
		_ = cut(func(ctx context.Context) error { _, err := a.Take(ctx, r); return err })
		release(t, a, r)
		gone(t, b, name)
	},
	"Wait": func(t *testing.T, a, b *zookeeper.Engine, name string, cut func(func(context.Context) error) error) {
		held, r := wish(b, name), wish(a, name)
		take(t, b, held)
		queue(t, a, r).end()
		err := cut(func(ctx context.Context) error {
			ended := time.AfterFunc(50*time.Millisecond, func() { _ = b.Release(context.WithoutCancel(ctx), driver.Release{Hold: holdOf(held)}) })
			defer ended.Stop()
			_, err := a.Wait(ctx, r)
			return err
		})
		if driver.IsNo(err) || driver.IsPermanent(err) {
			t.Errorf("Wait: %v", err)
		}
		release(t, b, held)
		only(t, b, name, take(t, a, r), 0)
		release(t, a, r)
		gone(t, b, name)
	},
	"Renew": func(t *testing.T, a, b *zookeeper.Engine, name string, cut func(func(context.Context) error) error) {
		r := wish(a, name)
		g := take(t, a, r)
		if err := cut(func(ctx context.Context) error { return renew(ctx, a, r) }); driver.IsNo(err) || driver.IsPermanent(err) {
			t.Errorf("Renew of what is held: %v", err)
		}
		if err := outcome(t, a, r); err != nil {
			t.Errorf("Renew again: %v", err)
		}
		only(t, b, name, g, 0)
		release(t, a, r)
		gone(t, b, name)
	},
	"Release": func(t *testing.T, a, b *zookeeper.Engine, name string, cut func(func(context.Context) error) error) {
		r := wish(a, name)
		take(t, a, r)
		if err := cut(func(ctx context.Context) error { return a.Release(ctx, driver.Release{Hold: holdOf(r)}) }); driver.IsPermanent(err) {
			t.Errorf("Release: %v", err)
		}
		release(t, a, r)
		gone(t, b, name)
		next := wish(b, name)
		take(t, b, next)
		release(t, b, next)
	},
	"Release to a waiter": func(t *testing.T, a, b *zookeeper.Engine, name string, cut func(func(context.Context) error) error) {
		r := wish(a, name)
		take(t, a, r)
		w := queue(t, b, wish(b, name))
		_ = cut(func(ctx context.Context) error { return a.Release(ctx, driver.Release{Hold: holdOf(r)}) })
		release(t, a, r)
		only(t, b, name, w.granted(t), 0)
		release(t, a, r) // it has nothing to do with the next one's
		only(t, b, name, w.granted(t), 0)
		release(t, b, w.request)
		gone(t, b, name)
	},
	"Release that keeps": func(t *testing.T, a, b *zookeeper.Engine, name string, cut func(func(context.Context) error) error) {
		const keep = time.Second
		r := wish(a, name)
		g := take(t, a, r)
		w := queue(t, b, wish(b, name))
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
		gone(t, b, name)
	},
	"Downgrade": func(t *testing.T, a, b *zookeeper.Engine, name string, cut func(func(context.Context) error) error) {
		r, reader := wish(a, name), wish(b, name)
		reader.Mode = driver.Shared
		take(t, a, r)
		if err := cut(func(ctx context.Context) error { return a.Downgrade(ctx, holdOf(r)) }); driver.IsNo(err) || driver.IsPermanent(err) {
			t.Errorf("Downgrade of what is held: %v", err)
		}
		attempt(t, "Downgrade", func(ctx context.Context) error { return a.Downgrade(ctx, holdOf(r)) })
		take(t, b, reader)
		if err := outcome(t, a, r); err != nil {
			t.Errorf("Renew after the downgrade: %v", err)
		}
		release(t, a, r)
		release(t, b, reader)
		gone(t, b, name)
	},
}

// Each request of each operation is lost in turn, and the reply to each.
func TestConnectionIsCutAtEachRequest(t *testing.T) {
	t.Parallel()
	s := zookeeper.SharedServer(t)
	for name, play := range scenes {
		for way, action := range map[string]redisserver.Action{"before": redisserver.CutBefore, "after": redisserver.CutAfter} {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				p := redisserver.ProxyForTest(t, s.Addr())
				a := engineOn(t, 20*time.Second, p.Addr(), p.Addr()) // with one name only the client pauses before it connects again
				b := engineOn(t, 20*time.Second, s.Addr())
				first := wish(b, name+", "+way) // the nodes above those of names are there from then on
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

// cutAt cuts the connection at a request of an operation, counted from 0, and reports whether it has had as many.
func cutAt(t *testing.T, p *redisserver.Proxy, nth int, action redisserver.Action, do func(context.Context) error) (err error, cut bool) {
	t.Helper()
	var mu sync.Mutex
	p.Intercept(func(request []byte) redisserver.Action {
		mu.Lock()
		defer mu.Unlock()
		if !substantial(request) {
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

// substantial reports whether a request is one of the engine, and no connecting, ping, or setting of watches by the client. For their numbers see
// OpCode in ZooDefs.java.
func substantial(request []byte) bool {
	const opAt, ping, auth, setWatches = 8, 11, 100, 101 // behind its size and its number
	if len(request) < opAt+4 {
		return false
	}
	switch binary.BigEndian.Uint32(request[opAt:]) {
	case 0, ping, auth, setWatches:
		return false
	}
	return true
}

// only fails the test unless a name has one holder, with a grant, and so many waiters.
func only(t *testing.T, e *zookeeper.Engine, name string, g driver.Grant, waiting int) {
	t.Helper()
	if seen := look(t, e, name); len(seen) != 1 || len(seen[0].Holders) != 1 || seen[0].Holders[0].Token != g.Token || seen[0].Waiting != waiting {
		t.Errorf("there is %+v, want one holder with token %d, and %d who wait", seen, g.Token, waiting)
	}
}

// gone fails the test if anybody holds a name or waits for it, or does so soon: a request that was cut off may arrive late.
func gone(t *testing.T, e *zookeeper.Engine, name string) {
	t.Helper()
	time.Sleep(5 * time.Millisecond)
	if seen := look(t, e, name); len(seen) != 0 {
		t.Errorf("there is %+v, want nothing", seen)
	}
}
