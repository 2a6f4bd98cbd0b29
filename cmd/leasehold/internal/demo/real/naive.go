package real

import (
	"context"
	"errors"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/naive"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
)

// naiveLocker locks with a few commands.
type naiveLocker struct {
	*client
	lock naive.Lock
}

// newNaiveLocker returns the lock that the setup asks for.
func newNaiveLocker(c *client) *naiveLocker {
	r := &naiveLocker{client: c, lock: naive.Lock{
		Client: c.name, Key: c.key(), Options: c.setup.Naive, TTL: ttl, RetryInterval: ttl / 40,
		RetryLimit: ttl * 5 / 2, Now: func() time.Duration { return time.Since(c.startedAt) }, Sleep: c.Sleep,
		ForEach: func(n int, f func(int)) {
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { f(i) })
			}
			all.Wait()
			c.waitUntilRunning() // a stopped client cannot read an answer
		},
	}}
	limit := answerLimit
	if len(c.connections) > 1 {
		limit = nodeLimit
	}
	for _, each := range c.connections {
		r.lock.Servers = append(r.lock.Servers, commands{c.ctx, each, limit})
	}
	return r
}

const (
	// answerLimit is how long to wait for the answer of the only server: longer than any run.
	answerLimit = 20 * time.Second
	// nodeLimit is how long to wait for the answer of one of several servers: a small part of the ttl.
	nodeLimit = ttl / 10
)

// prepare implements locker. Connecting may take longer than the requests of the run may.
func (r *naiveLocker) prepare(ctx context.Context) error {
	for i, each := range r.connections {
		if r.isCut(i) {
			continue
		}
		if _, err := (commands{ctx, each, answerLimit}).DeleteIf("warm-up", ""); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// isCut reports whether the client is cut off from a server.
func (c *client) isCut(server int) bool {
	g := c.links[server]
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cut
}

// Lock implements locker.
func (r *naiveLocker) Lock() (scenario.Lease, bool) { return r.lock.Lock() }

func (r *naiveLocker) close() {}

// commands are the commands of one server.
type commands struct {
	ctx    context.Context
	client *goredis.Client
	limit  time.Duration
}

var _ naive.Server = commands{}

// SetIfAbsent implements [naive.Server].
func (c commands) SetIfAbsent(key, value string, ttl time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.limit)
	defer cancel()
	if ttl == 0 {
		n, err := c.client.Do(ctx, "SETNX", key, value).Int()
		return n == 1, err
	}
	err := c.client.Do(ctx, "SET", key, value, "NX", "PX", ttl.Milliseconds()).Err()
	if errors.Is(err, goredis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// Delete implements [naive.Server].
func (c commands) Delete(key string) (was string, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.limit)
	defer cancel()
	was, err = c.client.GetDel(ctx, key).Result()
	if errors.Is(err, goredis.Nil) {
		err = nil
	}
	return was, err
}

// compareAndDelete is the usual script.
const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

// DeleteIf implements [naive.Server].
func (c commands) DeleteIf(key, value string) (bool, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.limit)
	defer cancel()
	n, err := c.client.Eval(ctx, compareAndDelete, []string{key}, value).Int()
	return n == 1, err
}
