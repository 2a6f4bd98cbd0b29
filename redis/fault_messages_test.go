package redis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// splitClient subscribes through another client than it sends requests through, so that one of the two can be broken.
type splitClient struct {
	*goredis.Client
	subscriber *goredis.Client
}

func (s splitClient) Subscribe(ctx context.Context, channels ...string) *goredis.PubSub {
	return s.subscriber.Subscribe(ctx, channels...)
}

func newSplitClient(s *redisserver.Server, p *redisserver.Proxy) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		subscriber := closed(t, goredis.NewClient(&goredis.Options{Addr: p.Addr()})).(*goredis.Client)
		return splitClient{closed(t, goredis.NewClient(&goredis.Options{Addr: s.Addr()})).(*goredis.Client), subscriber}
	}
}

// proxiedWaiter is a waiter behind a holder. Its messages come through a proxy.
type proxiedWaiter struct {
	s      *redisserver.Server
	p      *redisserver.Proxy
	e      *redis.Engine // of the waiter
	beside *redis.Engine // of the holder
	holder driver.Request
	waiter driver.Request
	got    <-chan grant
}

// newProxiedWaiter starts a holder with a lease of this ttl, and a waiter.
func newProxiedWaiter(t *testing.T, ttl time.Duration) *proxiedWaiter {
	pw := &proxiedWaiter{s: redisserver.ForTest(t, redisserver.Config{})}
	pw.p = redisserver.ProxyForTest(t, pw.s.Addr())
	pw.e, pw.beside = unguarded(t, newSplitClient(pw.s, pw.p)), unguarded(t, standalone(pw.s))
	pw.holder = lasting("a", ttl)
	mustTake(t, pw.beside, pw.holder)
	pw.waiter = mustJoin(t, pw.e, lasting("a", time.Minute))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	got := make(chan grant, 1)
	go func() {
		g, err := takeDespiteErrors(ctx, pw.e, pw.waiter)
		got <- grant{g, err, time.Now()}
	}()
	pw.got = got
	awaitSubscriptions(t, pw.s, 1)
	return pw
}

// finish releases the waiter's lock, and checks that nothing is left.
func (pw *proxiedWaiter) finish(t *testing.T) {
	t.Helper()
	release(t, pw.e, pw.waiter)
	checkNothingLeft(t, pw.s)
}

// A lost connection for messages is noticed at once: the waiter has polled and subscribed again before it is notified.
func TestLostSubscription(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(t *testing.T, pw *proxiedWaiter){
		"Cut":         func(_ *testing.T, pw *proxiedWaiter) { pw.p.Cut() },
		"CLIENT KILL": func(t *testing.T, pw *proxiedWaiter) { command(t, pw.s, "CLIENT", "KILL", "TYPE", "pubsub") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pw := newProxiedWaiter(t, time.Minute)
			for range 3 {
				breakIt(t, pw)
				awaitSubscriptions(t, pw.s, 1)
			}
			eventually(t, "it waits in the queue again",
				func() bool { return status(t, pw.beside, pw.holder.Key).Waiting == 1 })
			began := time.Now()
			release(t, pw.beside, pw.holder)
			if took := granted(t, pw.got).at.Sub(began); took > soon {
				t.Errorf("the waiter had the lock after %v, want at once", took)
			}
			pw.finish(t)
		})
	}
}

// A waiter whose connection breaks at the hand-over is taken for dead. It polls at once, and gets the lock.
func TestLostSubscriptionAtTheHandOver(t *testing.T) {
	t.Parallel()
	pw := newProxiedWaiter(t, time.Minute)
	began := time.Now()
	var work sync.WaitGroup
	work.Go(func() { command(t, pw.s, "CLIENT", "KILL", "TYPE", "pubsub") })
	work.Go(func() { release(t, pw.beside, pw.holder) })
	work.Wait()
	if took := granted(t, pw.got).at.Sub(began); took > soon {
		t.Errorf("the waiter had the lock after %v, want at once", took)
	}
	pw.finish(t)
}

// A waiter whose message is lost gets the lock by its own poll, when the lease that it waits for would have ended.
func TestLostMessage(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	pw := newProxiedWaiter(t, ttl)
	pw.p.SwallowReplies()
	began := time.Now()
	release(t, pw.beside, pw.holder)
	if took := granted(t, pw.got).at.Sub(began); took > ttl+soon {
		t.Errorf("the waiter had the lock after %v, want its poll after %v", took, ttl)
	}
	pw.finish(t)
}

// A connection for messages may be dead without a sign: the server still counts the subscription. This costs one first
// lease each time, until it is noticed. Nobody waits for ever.
func TestHalfOpenSubscription(t *testing.T) {
	t.Parallel()
	for !passesOverAWaiterWithoutMessages(t) { // it polled at the wrong moment
		t.Log("again: the waiter without messages polled while the lock was kept for it")
	}
}

// passesOverAWaiterWithoutMessages reports false if that waiter has polled right after the release, and so has the
// lock.
func passesOverAWaiterWithoutMessages(t *testing.T) bool {
	t.Helper()
	pw := newProxiedWaiter(t, time.Minute)
	pw.p.Freeze()
	next := mustJoin(t, pw.beside, lasting("a", time.Minute))
	gotNext := startWait(t, pw.beside, next)
	began := time.Now()
	release(t, pw.beside, pw.holder)
	var got grant
	select {
	case <-pw.got:
		release(t, pw.e, pw.waiter)
		granted(t, gotNext)
		release(t, pw.beside, next)
		pw.p.Thaw()
		return false
	case got = <-gotNext:
	}
	if took := got.at.Sub(began); got.err != nil || took > 2*time.Second+soon {
		t.Errorf("the next had the lock after %v (%v), want the 2s of the first lease", took, got.err)
	}
	release(t, pw.beside, next)
	const twoPolls = 2 * 10 * time.Second
	if took := granted(t, pw.got).at.Sub(began); took > twoPolls {
		t.Errorf("the waiter without messages had the lock after %v, want at most the %v of two polls", took, twoPolls)
	}
	pw.finish(t)
	pw.p.Thaw()
	return true
}

// If no connection for messages can be made, or it is dead from the beginning, waiters poll, and subscribe as soon as
// they can.
func TestNoConnectionForMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end, restore func(p *redisserver.Proxy) error
	}{
		"Refused": {func(p *redisserver.Proxy) error { p.Refuse(); return nil }, (*redisserver.Proxy).Allow},
		"Dead": {func(p *redisserver.Proxy) error { p.Freeze(); return nil },
			func(p *redisserver.Proxy) error { p.Thaw(); return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			p := redisserver.ProxyForTest(t, s.Addr())
			if err := c.end(p); err != nil {
				t.Fatal(err)
			}
			e, beside := unguarded(t, newSplitClient(s, p)), unguarded(t, standalone(s))
			before := lasting("a", time.Minute)
			mustTake(t, beside, before)
			began := time.Now()
			r := mustJoin(t, e, lasting("a", time.Minute))
			got := startWait(t, e, r)
			release(t, beside, before)
			if took := granted(t, got).at.Sub(began); took > 3*soon {
				t.Errorf("the waiter had the lock after %v, want its next poll", took)
			}
			next := mustJoin(t, e, lasting("a", time.Minute))
			got = startWait(t, e, next)
			if err := c.restore(p); err != nil {
				t.Fatal(err)
			}
			awaitSubscriptions(t, s, 1)
			release(t, e, r)
			granted(t, got)
			release(t, e, next)
			checkNothingLeft(t, s)
		})
	}
}

// Many waiters, and a connection for messages that breaks again and again: all get the lock, one after the other.
func TestSubscriptionsBreakUnderLoad(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var work sync.WaitGroup
	var check exclusionCheck
	for i := range 3 {
		e := unguarded(t, standalone(s))
		for range 4 {
			work.Go(func() {
				for turn := range 20 {
					if err := check.takeTurn(ctx, e); err != nil {
						t.Errorf("engine %d, turn %d: %v", i, turn, err)
						return
					}
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	for tick := time.Tick(20 * time.Millisecond); ; {
		select {
		case <-done:
			checkNothingLeft(t, s)
			return
		case <-tick:
			command(t, s, "CLIENT", "KILL", "TYPE", "pubsub")
		}
	}
}
