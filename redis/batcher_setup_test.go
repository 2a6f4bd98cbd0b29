package redis_test

import (
	"context"
	"crypto/rand"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/redis"
)

// scriptCounter counts the scripts that a client sends, and can delay them.
type scriptCounter struct {
	engine *redis.Engine

	mu      sync.Mutex
	scripts int
	batches []int         // the number of requests of each script that had several
	errs    []error       // the client's errors of such scripts
	gate    chan struct{} // unless nil, scripts wait until it is closed
}

// openCounted opens an engine whose scripts are counted.
func openCounted(t *testing.T, client newClient, opts ...redis.Option) (*redis.Engine, *scriptCounter) {
	t.Helper()
	c := &scriptCounter{}
	e := open(t, func(t *testing.T) goredis.UniversalClient {
		made := client(t)
		made.AddHook(c)
		return made
	}, opts...)
	c.engine = e
	return e, c
}

// DialHook implements goredis.Hook.
func (c *scriptCounter) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements goredis.Hook.
func (c *scriptCounter) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		batch := c.count(cmd)
		err := next(ctx, cmd)
		c.noteError(batch, err)
		return err
	}
}

// ProcessPipelineHook implements goredis.Hook.
func (c *scriptCounter) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		batches := make([]bool, len(cmds))
		for i, cmd := range cmds {
			batches[i] = c.count(cmd)
		}
		err := next(ctx, cmds)
		for i, cmd := range cmds {
			c.noteError(batches[i], cmd.Err())
		}
		return err
	}
}

// noteError notes how a script for several requests has failed.
func (c *scriptCounter) noteError(batch bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if batch && err != nil {
		c.errs = append(c.errs, err)
	}
}

// count counts a script, and reports whether it has several requests.
func (c *scriptCounter) count(cmd goredis.Cmder) (batch bool) {
	words := cmd.Args()
	if words[0] != "evalsha" {
		return false
	}
	sha, known := words[1].(*string)
	if !known { // the engine initializes the server
		return false
	}
	batch = c.engine.IsBatchScript(*sha)
	c.mu.Lock()
	if key, is := words[3].(*string); !is || !strings.Contains(*key, keepsSenderBusy) {
		c.scripts++
	}
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

// sent returns the number of scripts that were sent, and the numbers of requests of those that had several.
func (c *scriptCounter) sent() (scripts int, batches []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scripts, c.batches
}

// failures are the client's errors of scripts for several requests.
func (c *scriptCounter) failures() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errs
}

// reset begins to count anew.
func (c *scriptCounter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scripts, c.batches = 0, nil
}

// sendAsOneBatch starts some requests such that they go in one script.
func (c *scriptCounter) sendAsOneBatch(t *testing.T, start func()) {
	t.Helper()
	known := lasting("known "+rand.Text(), time.Minute)
	mustTake(t, c.engine, known) // from now on the engine knows the server
	release(t, c.engine, known)
	c.whileSendersBusy(t, start)
}

// keepsSenderBusy marks the names that keep senders busy. Their scripts do not count, because a busy machine may count
// them late.
const keepsSenderBusy = "keeps a sender busy"

// whileSendersBusy starts something while all senders are busy.
func (c *scriptCounter) whileSendersBusy(t *testing.T, start func()) {
	t.Helper()
	gate := make(chan struct{})
	c.mu.Lock()
	c.gate = gate
	c.mu.Unlock()
	var busy sync.WaitGroup
	for i := range redis.MaxSenders {
		busy.Go(func() { <-startRelease(c.engine, lasting(keepsSenderBusy+" "+rand.Text(), time.Minute)) })
		eventually(t, "a sender is busy", func() bool {
			waiting, busy, _ := c.engine.BatcherLoad()
			return busy == i+1 && waiting == 0
		})
	}
	start()
	c.mu.Lock()
	c.gate = nil
	c.mu.Unlock()
	c.reset()
	close(gate)
	busy.Wait()
}

// result is the outcome of a request.
type result struct {
	driver.Grant
	err error
}

// startTake starts a take without a goroutine that waits for it.
func startTake(e *redis.Engine, r driver.Request) <-chan result {
	got := make(chan result, 2)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	e.StartTake(ctx, quorumnode.Request{Request: r}, func(g driver.Grant, err error) {
		cancel()
		got <- result{g, err}
	})
	return got
}

// startRelease starts a release without a goroutine that waits for it.
func startRelease(e *redis.Engine, r driver.Request) <-chan result {
	got := make(chan result, 2)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	e.StartRelease(ctx, driver.Release{Hold: hold(r)}, func(err error) {
		cancel()
		got <- result{err: err}
	})
	return got
}
