package redis_test

import (
	"context"
	"crypto/rand"
	"net"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
)

// counter counts the scripts that a client sends, and can hold them up.
type counter struct {
	engine *redis.Engine

	mu      sync.Mutex
	scripts int
	batches []int         // how many errands each script did that did several
	errs    []error       // what the client made of them
	gate    chan struct{} // scripts wait until it is closed, if there is one
}

// counted opens an engine whose scripts are counted.
func counted(t *testing.T, client newClient, opts ...redis.Option) (*redis.Engine, *counter) {
	t.Helper()
	c := &counter{}
	e := open(t, func(t *testing.T) goredis.UniversalClient {
		made := client(t)
		made.AddHook(c)
		return made
	}, opts...)
	c.engine = e
	return e, c
}

// DialHook implements goredis.Hook.
func (c *counter) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements goredis.Hook.
func (c *counter) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		batch := c.count(cmd)
		err := next(ctx, cmd)
		c.failed(batch, err)
		return err
	}
}

// ProcessPipelineHook implements goredis.Hook.
func (c *counter) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		batches := make([]bool, len(cmds))
		for i, cmd := range cmds {
			batches[i] = c.count(cmd)
		}
		err := next(ctx, cmds)
		for i, cmd := range cmds {
			c.failed(batches[i], cmd.Err())
		}
		return err
	}
}

// failed notes how a script has failed that did several errands.
func (c *counter) failed(batch bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if batch && err != nil {
		c.errs = append(c.errs, err)
	}
}

// count counts a script, and reports whether it does several errands.
func (c *counter) count(cmd goredis.Cmder) (batch bool) {
	words := cmd.Args()
	if words[0] != "evalsha" {
		return false
	}
	sha, known := words[1].(*string)
	if !known { // the engine meets the server
		return false
	}
	batch = c.engine.IsTogether(*sha)
	c.mu.Lock()
	c.scripts++
	if batch {
		keys := words[2].(int)
		releases := words[3+keys].(int)
		c.batches = append(c.batches, releases+(keys-releases)/2)
	}
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return batch
}

// sent is how many scripts were sent, and how many errands those did that did several.
func (c *counter) sent() (scripts int, batches []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scripts, c.batches
}

// failures are the errors that the client has seen as answers to scripts that do several errands.
func (c *counter) failures() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errs
}

// forget begins to count anew.
func (c *counter) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scripts, c.batches = 0, nil
}

// together starts some errands such that they go in one script.
func (c *counter) together(t *testing.T, start func()) {
	t.Helper()
	met := lasting("met "+rand.Text(), time.Minute)
	takes(t, c.engine, met) // from now on the engine knows the server
	release(t, c.engine, met)
	c.away(t, start)
}

// away starts something while all couriers are away. When they come back, their callers take a closer look.
func (c *counter) away(t *testing.T, start func()) {
	t.Helper()
	gate := make(chan struct{})
	c.mu.Lock()
	c.gate = gate
	c.mu.Unlock()
	var away sync.WaitGroup
	for i := range redis.MostBusy {
		away.Go(func() { <-startsRelease(c.engine, lasting("nobody holds "+rand.Text(), time.Minute)) })
		eventually(t, "a courier goes", func() bool {
			now, waiting := c.engine.Errands()
			return now == i+1 && waiting == 0
		})
	}
	start()
	c.mu.Lock()
	c.gate = nil
	c.mu.Unlock()
	c.forget()
	close(gate)
	away.Wait()
}

// result is the outcome of an errand.
type result struct {
	driver.Grant
	err error
}

// starts asks for a lock, or gives it back, without a goroutine that waits.
func startsTake(e *redis.Engine, r driver.Request) <-chan result {
	got := make(chan result, 2)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	e.StartTake(ctx, r, func(g driver.Grant, err error) {
		cancel()
		got <- result{g, err}
	})
	return got
}

func startsRelease(e *redis.Engine, r driver.Request) <-chan result {
	got := make(chan result, 2)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	e.StartRelease(ctx, driver.Release{Hold: hold(r)}, func(err error) {
		cancel()
		got <- result{err: err}
	})
	return got
}
