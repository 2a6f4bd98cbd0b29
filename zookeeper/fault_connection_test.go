//go:build !race || quietzk

// The client library reads a number without its lock when it reconnects. Where connections break again and again, the
// race detector sometimes sees that, and fails all tests that run. It does not affect the engine. So make race compiles
// the library without the detector, which the tag says.

package zookeeper_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// Waiters are granted the lock although they are never told that the holder is gone: their connection breaks before.
func TestWatchIsLost(t *testing.T) {
	t.Parallel()
	s := zookeeper.SharedServer(t)
	p := redisserver.ProxyForTest(t, s.Addr())
	a, b := engineOn(t, endlessTimeout, s.Addr()), engineOn(t, endlessTimeout, p.Addr())
	for name, inject := range map[string]func(){
		"replies are lost":         p.SwallowReplies,
		"nobody can connect":       func() { p.Refuse(); p.Cut() },
		"the connection is frozen": p.Freeze,
	} {
		r := newRequest(a, name)
		g := take(t, a, r)
		next := queue(t, b, newRequest(b, name))
		inject()
		release(t, a, r)
		next.checkWaits(t)
		p.Thaw()
		p.PassReplies()
		if err := p.Allow(); err != nil {
			t.Fatal(err)
		}
		if n := next.granted(t); n.Token <= g.Token {
			t.Errorf("%s: token %d follows %d", name, n.Token, g.Token)
		}
		release(t, b, next.request)
	}
}

// A silent server is left for another one, although no request waits for long.
func TestSilentServerIsLeft(t *testing.T) {
	t.Parallel()
	s := zookeeper.SharedServer(t)
	a, b := redisserver.ProxyForTest(t, s.Addr()), redisserver.ProxyForTest(t, s.Addr())
	e := engineOn(t, endlessTimeout, a.Addr(), b.Addr())
	r := newRequest(e, "silent server")
	take(t, e, r)
	a.Freeze()
	// it is connected through the other one
	if within(t, time.Second, func(ctx context.Context) error { return renew(ctx, e, r) }) == nil {
		b.Freeze()
		a.Thaw()
	}
	frozen := time.Now()
	for {
		err := within(t, 1500*time.Millisecond, func(ctx context.Context) error { return renew(ctx, e, r) })
		if err == nil {
			t.Logf("the other one has answered after %v", time.Since(frozen))
			break
		}
		// the library alone would wait for two thirds
		if took := time.Since(frozen); took > endlessTimeout/3 || driver.IsNo(err) {
			t.Fatalf("after %v: %v", took, err)
		}
	}
	release(t, e, r)
}
