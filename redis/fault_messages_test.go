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

// split is a client that subscribes by another way than it sends its requests, so that only one of them breaks.
type split struct {
	*goredis.Client
	ears *goredis.Client
}

func (s split) Subscribe(ctx context.Context, channels ...string) *goredis.PubSub {
	return s.ears.Subscribe(ctx, channels...)
}

func splitClient(s *redisserver.Server, p *redisserver.Proxy) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		ears := closed(t, goredis.NewClient(&goredis.Options{Addr: p.Addr()})).(*goredis.Client)
		return split{closed(t, goredis.NewClient(&goredis.Options{Addr: s.Addr()})).(*goredis.Client), ears}
	}
}

// deaf is a waiter whose messages come through a proxy, behind a holder.
type deaf struct {
	s      *redisserver.Server
	p      *redisserver.Proxy
	e      *redis.Engine // of the waiter
	beside *redis.Engine // of the holder
	holder driver.Request
	waiter driver.Request
	got    <-chan grant
}

// makeDeaf starts all that. The ttl is that of the holder.
func makeDeaf(t *testing.T, ttl time.Duration) *deaf {
	d := &deaf{s: redisserver.ForTest(t, redisserver.Config{})}
	d.p = redisserver.ProxyForTest(t, d.s.Addr())
	d.e, d.beside = unguarded(t, splitClient(d.s, d.p)), unguarded(t, standalone(d.s))
	d.holder = lasting("a", ttl)
	takes(t, d.beside, d.holder)
	d.waiter = joins(t, d.e, lasting("a", time.Minute))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	got := make(chan grant, 1)
	go func() {
		g, err := persists(ctx, d.e, d.waiter)
		got <- grant{g, err, time.Now()}
	}()
	d.got = got
	awaitEars(t, d.s, 1)
	return d
}

func (d *deaf) end(t *testing.T) {
	t.Helper()
	release(t, d.e, d.waiter)
	checkNothingLeft(t, d.s)
}

// A connection for messages that breaks is noticed at once: the waiter has looked itself and listens again before it is needed.
func TestLostSubscription(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(t *testing.T, d *deaf){
		"Cut":         func(_ *testing.T, d *deaf) { d.p.Cut() },
		"CLIENT KILL": func(t *testing.T, d *deaf) { command(t, d.s, "CLIENT", "KILL", "TYPE", "pubsub") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := makeDeaf(t, time.Minute)
			for range 3 {
				breakIt(t, d)
				awaitEars(t, d.s, 1)
			}
			eventually(t, "it waits in the queue again", func() bool { return status(t, d.beside, d.holder.Key).Waiting == 1 })
			began := time.Now()
			release(t, d.beside, d.holder)
			if took := granted(t, d.got).at.Sub(began); took > soon {
				t.Errorf("the waiter had the lock after %v, want at once", took)
			}
			d.end(t)
		})
	}
}

// A waiter whose connection breaks at the hand-over is taken for dead. It looks at once, and has the lock.
func TestLostSubscriptionAtTheHandOver(t *testing.T) {
	t.Parallel()
	d := makeDeaf(t, time.Minute)
	began := time.Now()
	var work sync.WaitGroup
	work.Go(func() { command(t, d.s, "CLIENT", "KILL", "TYPE", "pubsub") })
	work.Go(func() { release(t, d.beside, d.holder) })
	work.Wait()
	if took := granted(t, d.got).at.Sub(began); took > soon {
		t.Errorf("the waiter had the lock after %v, want at once", took)
	}
	d.end(t)
}

// A message that is lost is made good by the waiter's own look, when the lease that it waits for would have ended.
func TestLostMessage(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	d := makeDeaf(t, ttl)
	d.p.SwallowReplies()
	began := time.Now()
	release(t, d.beside, d.holder)
	if took := granted(t, d.got).at.Sub(began); took > ttl+soon {
		t.Errorf("the waiter had the lock after %v, want its look after %v", took, ttl)
	}
	d.end(t)
}

// A connection for messages may be dead without a word: the server still thinks that it is heard. It costs one first lease each
// time, until it is noticed. Nobody waits for ever.
func TestHalfOpenSubscription(t *testing.T) {
	t.Parallel()
	d := makeDeaf(t, time.Minute)
	d.p.Freeze()
	next := joins(t, d.beside, lasting("a", time.Minute))
	gotNext := waits(t, d.beside, next)
	began := time.Now()
	release(t, d.beside, d.holder)
	if took := granted(t, gotNext).at.Sub(began); took > 2*time.Second+soon {
		t.Errorf("the next had the lock after %v, want the 2s of the first lease", took)
	}
	release(t, d.beside, next)
	const looks = 2 * 10 * time.Second
	if took := granted(t, d.got).at.Sub(began); took > looks {
		t.Errorf("the deaf waiter had the lock after %v, want at most the %v of two looks", took, looks)
	}
	d.end(t)
	d.p.Thaw()
}

// Where no connection for messages can be made, or it is dead from the beginning, waiters look for themselves, and listen as soon as
// they can.
func TestNoConnectionForMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end, mend func(p *redisserver.Proxy) error
	}{
		"Refused": {func(p *redisserver.Proxy) error { p.Refuse(); return nil }, (*redisserver.Proxy).Allow},
		"Dead":    {func(p *redisserver.Proxy) error { p.Freeze(); return nil }, func(p *redisserver.Proxy) error { p.Thaw(); return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			p := redisserver.ProxyForTest(t, s.Addr())
			if err := c.end(p); err != nil {
				t.Fatal(err)
			}
			e, beside := unguarded(t, splitClient(s, p)), unguarded(t, standalone(s))
			before := lasting("a", time.Minute)
			takes(t, beside, before)
			began := time.Now()
			r := joins(t, e, lasting("a", time.Minute))
			got := waits(t, e, r)
			release(t, beside, before)
			if took := granted(t, got).at.Sub(began); took > 3*soon {
				t.Errorf("the waiter had the lock after %v, want its next look", took)
			}
			next := joins(t, e, lasting("a", time.Minute))
			got = waits(t, e, next)
			if err := c.mend(p); err != nil {
				t.Fatal(err)
			}
			awaitEars(t, s, 1)
			release(t, e, r)
			granted(t, got)
			release(t, e, next)
			checkNothingLeft(t, s)
		})
	}
}

// Many waiters, and a connection for messages that breaks again and again: all are served, one after the other.
func TestSubscriptionsBreakUnderLoad(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var work sync.WaitGroup
	var inside room
	for i := range 3 {
		e := unguarded(t, standalone(s))
		for range 4 {
			work.Go(func() {
				for turn := range 40 {
					if err := inside.turn(ctx, e); err != nil {
						t.Errorf("engine %d, turn %d: %v", i, turn, err)
						return
					}
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	for often := time.Tick(20 * time.Millisecond); ; {
		select {
		case <-done:
			checkNothingLeft(t, s)
			return
		case <-often:
			command(t, s, "CLIENT", "KILL", "TYPE", "pubsub")
		}
	}
}
