package redis_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// caller asks for a lock through a proxy that can hold requests, and gives up.
type caller struct {
	t      *testing.T
	s      *redisserver.Server
	p      *redisserver.Proxy
	e      *redis.Engine // of the caller
	beside *redis.Engine
	mine   driver.Request
	holder driver.Request
	ctx    context.Context
	giveUp context.CancelFunc
}

// holdUp holds the next request with a command in the proxy. The channel is closed when the request is there.
func (c *caller) holdUp(command string) <-chan struct{} {
	held := make(chan struct{})
	var once sync.Once
	c.p.Intercept(func(request []byte) redisserver.Action {
		action := redisserver.Pass
		if words := redisserver.Words(request); len(words) > 0 && strings.EqualFold(words[0], command) {
			once.Do(func() { action = redisserver.Hold; close(held) })
		}
		return action
	})
	return held
}

// resume ends holdUp.
func (c *caller) resume() {
	c.p.Intercept(nil)
	c.p.Release()
}

// startTake takes in the background. The channel has the outcome once the request has ended, which may be after it was
// given up.
func (c *caller) startTake(join bool) <-chan error {
	c.mine.Join = join
	outcome := make(chan error, 1)
	go func() {
		_, err := c.e.Take(c.ctx, c.mine)
		outcome <- err
	}()
	return outcome
}

func (c *caller) holdByOther() { mustTake(c.t, c.beside, c.holder) }

// release does what the core does for a request that was given up.
func (c *caller) release() {
	c.t.Helper()
	if err := c.e.Release(context.Background(), driver.Release{Hold: hold(c.mine)}); err != nil && !driver.IsNo(err) {
		c.t.Errorf("Release: %v", err)
	}
}

// checkGaveUp checks the outcome of a request that was given up. If it had no effect, there is nothing to release.
func (c *caller) checkGaveUp(err error) {
	c.t.Helper()
	if err == nil || driver.IsNo(err) {
		c.t.Errorf("the outcome of what was given up is %v", err)
	}
	if !driver.HadNoEffect(err) {
		c.release()
	}
}

// cancelSteps are the moments at which a caller may give up.
var cancelSteps = map[string]func(c *caller){
	"before": func(c *caller) {
		c.giveUp()
		c.checkGaveUp(<-c.startTake(false))
	},
	"before it joins": func(c *caller) {
		c.holdByOther()
		c.giveUp()
		c.checkGaveUp(<-c.startTake(true))
	},
	"while it identifies the server": func(c *caller) {
		held := c.holdUp("info")
		outcome := c.startTake(true)
		<-held
		c.giveUp()
		c.checkGaveUp(<-outcome)
		c.resume()
	},
	"while it takes": func(c *caller) { c.takeLate(false) },
	"while it takes or joins": func(c *caller) {
		c.takeLate(true)
	},
	"while it joins": func(c *caller) {
		c.holdByOther()
		c.subscribe()
		c.takeLate(true)
	},
	"while it subscribes": func(c *caller) {
		c.holdByOther()
		held := c.holdUp("subscribe")
		outcome := c.startTake(true)
		<-held
		c.giveUp()
		c.checkGaveUp(<-outcome)
		c.resume()
	},
	"while it waits": func(c *caller) {
		c.holdByOther()
		c.mine = mustJoin(c.t, c.e, c.mine)
		got := make(chan error, 1)
		go func() { _, err := c.e.Wait(c.ctx, c.mine); got <- err }()
		c.giveUp()
		if err := <-got; !driver.HadNoEffect(err) || !errors.Is(err, context.Canceled) {
			c.t.Errorf("Wait: %v, want the context's error, and that nothing is in flight", err)
		}
		c.release()
	},
	"while it polls": func(c *caller) {
		c.holdByOther()
		c.mine = mustJoin(c.t, c.e, c.mine)
		held := c.holdUp("evalsha")
		got := make(chan error, 1)
		go func() { _, err := c.e.Wait(c.ctx, c.mine); got <- err }()
		command(c.t, c.s, "CLIENT", "KILL", "TYPE", "pubsub") // it polls when its subscription is lost
		<-held
		c.giveUp()
		if err := <-got; err == nil || driver.HadNoEffect(err) {
			c.t.Errorf("Wait: %v, want an error that does not say that nothing is in flight", err)
		}
		c.releaseBeforeResume()
		c.keepReleasing()
	},
}

// releaseBeforeResume releases before the request in the proxy arrives, unless both use the same connection: then the
// release gets no answer in time.
func (c *caller) releaseBeforeResume() {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = c.e.Release(ctx, driver.Release{Hold: hold(c.mine)})
	c.resume()
}

// keepReleasing releases again and again, as the core does until a request that was given up can no longer take effect.
func (c *caller) keepReleasing() {
	for end := time.Now().Add(soon); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		c.release()
	}
}

// subscribe makes the engine subscribe before the request.
func (c *caller) subscribe() {
	other := mustJoin(c.t, c.e, lasting(c.holder.Name, time.Minute))
	if err := c.e.Release(c.t.Context(), driver.Release{Hold: hold(other)}); !errors.Is(err, driver.ErrNotHeld) {
		c.t.Errorf("leaving the queue: %v", err)
	}
}

// takeLate takes with a request that arrives after it has been given up and released.
func (c *caller) takeLate(join bool) {
	known := lock("known")
	mustTake(c.t, c.e, known)
	release(c.t, c.e, known)
	held := c.holdUp("evalsha")
	outcome := c.startTake(join)
	<-held
	c.giveUp()
	c.releaseBeforeResume()
	if err := <-outcome; err == nil || errors.Is(err, driver.ErrHeld) || !driver.HadNoEffect(err) {
		c.keepReleasing() // as the core does
	}
}

// isHeldByOther reports whether the other holder still holds.
func (c *caller) isHeldByOther() bool {
	return renewOne(c.t.Context(), c.beside, hold(c.holder), time.Millisecond) == nil
}

// At whatever moment a caller gives up: after that, and after the core's release, nothing is left behind, neither on
// the server nor in the engine.
func TestCancelAtEveryStep(t *testing.T) {
	t.Parallel()
	for kind, client := range map[string]func(newClient) newClient{"Plain": plain, "AutoPipeline": pipelined} {
		for name, step := range cancelSteps {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := redisserver.ForTest(t, redisserver.Config{})
				c := &caller{t: t, s: s, p: redisserver.ProxyForTest(t, s.Addr()), mine: lasting("a", time.Minute),
					holder: lasting("a", time.Minute)}
				c.ctx, c.giveUp = context.WithCancel(context.Background())
				defer c.giveUp()
				c.e = unguarded(t, client(func(t *testing.T) goredis.UniversalClient {
					return closed(t, goredis.NewClient(&goredis.Options{Addr: c.p.Addr()}))
				}))
				c.beside = unguarded(t, standalone(s))
				step(c)
				if st := status(t, c.beside, c.mine.Key); st.Waiting > 0 {
					t.Errorf("%d still wait", st.Waiting)
				}
				if c.isHeldByOther() {
					release(t, c.beside, c.holder)
				}
				checkNothingLeft(t, s)
				if c.e.Wanted(c.mine.Key) {
					t.Error("the engine still believes that somebody waits")
				}
			})
		}
	}
}

// A caller that gives up at the moment of the hand-over takes nothing from others.
func TestCancelAtTheMomentOfTheGrant(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	before := lasting("a", time.Minute)
	mustTake(t, a, before)
	granted, gaveUp := 0, 0
	for i := range 300 {
		first, second := mustJoin(t, b, lasting("a", time.Minute)), mustJoin(t, a, lasting("a", time.Minute))
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { _, err := b.Wait(ctx, first); got <- err }()
		next := startWait(t, a, second)
		go func() {
			<-time.After(time.Duration(i%30) * 20 * time.Microsecond) // any moment
			cancel()
		}()
		release(t, a, before)
		if <-got == nil {
			granted++
		} else {
			gaveUp++
		}
		if err := b.Release(t.Context(), driver.Release{Hold: hold(first)}); err != nil && !driver.IsNo(err) {
			t.Fatal(err)
		}
		if g := <-next; g.err != nil {
			t.Fatal(g.err)
		}
		before = second
	}
	release(t, a, before)
	checkNothingLeft(t, s)
	if a.Wanted(before.Key) || b.Wanted(before.Key) {
		t.Error("an engine still believes that somebody waits")
	}
	t.Logf("%d were granted the lock, %d gave up before", granted, gaveUp)
}
