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

// caller asks for a lock through a proxy that can hold requests up, and gives up.
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

// holdUp lets the next request with a command wait in the proxy. The channel is closed when it is there.
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

// goOn ends a holdUp.
func (c *caller) goOn() {
	c.p.Intercept(nil)
	c.p.Release()
}

// asks takes in the background. The channel has the outcome once the request has ended, which may be after it was given up.
func (c *caller) asks(join bool) <-chan error {
	c.mine.Join = join
	outcome := make(chan error, 1)
	go func() {
		_, err := c.e.Take(c.ctx, c.mine)
		outcome <- err
	}()
	return outcome
}

func (c *caller) othersHold() { takes(c.t, c.beside, c.holder) }

// release is the core's release of what has been given up.
func (c *caller) release() {
	c.t.Helper()
	if err := c.e.Release(context.Background(), driver.Release{Hold: hold(c.mine)}); err != nil && !driver.IsNo(err) {
		c.t.Errorf("Release: %v", err)
	}
}

// gaveUp checks an outcome. What has had no effect is not released.
func (c *caller) gaveUp(err error) {
	c.t.Helper()
	if err == nil || driver.IsNo(err) {
		c.t.Errorf("the outcome of what was given up is %v", err)
	}
	if !driver.HadNoEffect(err) {
		c.release()
	}
}

// steps are the moments at which a caller may give up.
var steps = map[string]func(c *caller){
	"before": func(c *caller) {
		c.giveUp()
		c.gaveUp(<-c.asks(false))
	},
	"before it joins": func(c *caller) {
		c.othersHold()
		c.giveUp()
		c.gaveUp(<-c.asks(true))
	},
	"while it learns of the server": func(c *caller) {
		held := c.holdUp("info")
		outcome := c.asks(true)
		<-held
		c.giveUp()
		c.gaveUp(<-outcome)
		c.goOn()
	},
	"while it takes": func(c *caller) { c.takesLate(false) },
	"while it takes or joins": func(c *caller) {
		c.takesLate(true)
	},
	"while it joins": func(c *caller) {
		c.othersHold()
		c.listens()
		c.takesLate(true)
	},
	"while it begins to listen": func(c *caller) {
		c.othersHold()
		held := c.holdUp("subscribe")
		outcome := c.asks(true)
		<-held
		c.giveUp()
		c.gaveUp(<-outcome)
		c.goOn()
	},
	"while it waits": func(c *caller) {
		c.othersHold()
		c.mine = joins(c.t, c.e, c.mine)
		got := make(chan error, 1)
		go func() { _, err := c.e.Wait(c.ctx, c.mine); got <- err }()
		c.giveUp()
		if err := <-got; !driver.HadNoEffect(err) || !errors.Is(err, context.Canceled) {
			c.t.Errorf("Wait: %v, want the context's error, and that nothing is under way", err)
		}
		c.release()
	},
	"while it looks": func(c *caller) {
		c.othersHold()
		c.mine = joins(c.t, c.e, c.mine)
		held := c.holdUp("evalsha")
		got := make(chan error, 1)
		go func() { _, err := c.e.Wait(c.ctx, c.mine); got <- err }()
		command(c.t, c.s, "CLIENT", "KILL", "TYPE", "pubsub") // it looks when it hears nothing any more
		<-held
		c.giveUp()
		if err := <-got; err == nil || driver.HadNoEffect(err) {
			c.t.Errorf("Wait: %v, want an error that does not say that nothing is under way", err)
		}
		c.releasesBeforeItGoesOn()
		c.releasesOn()
	},
}

// releasesBeforeItGoesOn releases before the request that is held up arrives, unless both go the same way: then the release
// gets no answer in time.
func (c *caller) releasesBeforeItGoesOn() {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = c.e.Release(ctx, driver.Release{Hold: hold(c.mine)})
	c.goOn()
}

// releasesOn releases again and again, as the core does until what was given up can no longer take effect.
func (c *caller) releasesOn() {
	for end := time.Now().Add(soon); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		c.release()
	}
}

// listens makes the engine listen already.
func (c *caller) listens() {
	other := joins(c.t, c.e, lasting(c.holder.Name, time.Minute))
	if err := c.e.Release(c.t.Context(), driver.Release{Hold: hold(other)}); !errors.Is(err, driver.ErrNotHeld) {
		c.t.Errorf("leaving the queue: %v", err)
	}
}

// takesLate takes with a request that arrives when it has been given up and released.
func (c *caller) takesLate(join bool) {
	met := lock("met")
	takes(c.t, c.e, met)
	release(c.t, c.e, met)
	held := c.holdUp("evalsha")
	outcome := c.asks(join)
	<-held
	c.giveUp()
	c.releasesBeforeItGoesOn()
	if err := <-outcome; err == nil || errors.Is(err, driver.ErrHeld) || !driver.HadNoEffect(err) {
		c.releasesOn() // the core hears of it
	}
}

// holds reports whether the holder holds.
func (c *caller) holds() bool {
	return renews(c.t.Context(), c.beside, hold(c.holder), time.Millisecond) == nil
}

// Whenever a caller gives up: after that, and the core's release, nothing is left behind, neither on the server nor in the engine.
func TestCancelAtEveryStep(t *testing.T) {
	t.Parallel()
	for kind, client := range map[string]func(newClient) newClient{"Plain": func(c newClient) newClient { return c }, "AutoPipeline": pipelined} {
		for name, step := range steps {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := redisserver.ForTest(t, redisserver.Config{})
				c := &caller{t: t, s: s, p: redisserver.ProxyForTest(t, s.Addr()), mine: lasting("a", time.Minute), holder: lasting("a", time.Minute)}
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
				if c.holds() {
					release(t, c.beside, c.holder)
				}
				checkNothingLeft(t, s)
				if c.e.Wanted(c.mine.Key) {
					t.Error("the engine still thinks that somebody waits")
				}
			})
		}
	}
}

// A caller who gives up in the moment in which the lock is handed over to it loses nothing for others.
func TestCancelAtTheMomentOfTheGrant(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	before := lasting("a", time.Minute)
	takes(t, a, before)
	granted, gaveUp := 0, 0
	for i := range 300 {
		first, second := joins(t, b, lasting("a", time.Minute)), joins(t, a, lasting("a", time.Minute))
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { _, err := b.Wait(ctx, first); got <- err }()
		next := waits(t, a, second)
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
		t.Error("an engine still thinks that somebody waits")
	}
	t.Logf("%d were granted it, %d gave up before", granted, gaveUp)
}
