//go:build !race || quietzk

// The client of ZooKeeper reads a number without its lock when it connects again. Where connections break again and again, the race detector sees that
// now and then, and blames all tests that run. It does no harm to the engine. So make race compiles the client without the detector, and says so with a tag.

package zookeeper_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// Those who wait have their grant although they never hear that the one before them is gone: their connection breaks before it is told.
func TestWatchIsLost(t *testing.T) {
	t.Parallel()
	s := zookeeper.SharedServer(t)
	p := redisserver.ProxyForTest(t, s.Addr())
	a, b := engineOn(t, unending, s.Addr()), engineOn(t, unending, p.Addr())
	for name, harm := range map[string]func(){
		"replies are lost":         p.SwallowReplies,
		"nobody can connect":       func() { p.Refuse(); p.Cut() },
		"the connection is frozen": p.Freeze,
	} {
		r := wish(a, name)
		g := take(t, a, r)
		next := queue(t, b, wish(b, name))
		harm()
		release(t, a, r)
		next.waits(t)
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

// A server that is silent is left for another one, although no request waits for long.
func TestSilentServerIsLeft(t *testing.T) {
	t.Parallel()
	s := zookeeper.SharedServer(t)
	a, b := redisserver.ProxyForTest(t, s.Addr()), redisserver.ProxyForTest(t, s.Addr())
	e := engineOn(t, unending, a.Addr(), b.Addr())
	r := wish(e, "silent server")
	take(t, e, r)
	a.Freeze()
	if within(t, time.Second, func(ctx context.Context) error { return renew(ctx, e, r) }) == nil { // it is connected by way of the other one
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
		if took := time.Since(frozen); took > unending/3 || driver.IsNo(err) { // the client itself waits for two thirds
			t.Fatalf("after %v: %v", took, err)
		}
	}
	release(t, e, r)
}
