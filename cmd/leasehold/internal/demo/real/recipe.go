package real

import (
	"context"
	"errors"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/bare"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
)

// recipe locks with a few commands.
type recipe struct {
	*client
	lock bare.Lock
}

// newRecipe makes what the setup says.
func newRecipe(c *client) *recipe {
	r := &recipe{client: c, lock: bare.Lock{
		Client: c.name, Key: c.key(), Recipe: c.setup.Recipe, TTL: ttl, Beat: ttl / 40, Patience: ttl * 5 / 2,
		Now: func() time.Duration { return time.Since(c.begins) }, Sleep: c.Sleep,
		Each: func(n int, f func(int)) {
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { f(i) })
			}
			all.Wait()
			c.awake() // an answer is of no use to one who stands still
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
	// answerLimit is how long the answer of the only server is waited for: longer than any play.
	answerLimit = 20 * time.Second
	// nodeLimit is how long that of one of several is waited for: a small part of the ttl.
	nodeLimit = ttl / 10
)

// prepare implements locker. A connection may take longer to make than the answers of the play.
func (r *recipe) prepare(ctx context.Context) error {
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

// isCut reports whether nothing comes through to a server.
func (c *client) isCut(server int) bool {
	g := c.gates[server]
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cut
}

// Lock implements locker.
func (r *recipe) Lock() (stage.Lease, bool) { return r.lock.Lock() }

func (r *recipe) close() {}

// commands are those of one server.
type commands struct {
	ctx    context.Context
	client *goredis.Client
	limit  time.Duration
}

var _ bare.Server = commands{}

// SetIfAbsent implements [bare.Server].
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

// Delete implements [bare.Server].
func (c commands) Delete(key string) (was string, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.limit)
	defer cancel()
	was, err = c.client.GetDel(ctx, key).Result()
	if errors.Is(err, goredis.Nil) {
		err = nil
	}
	return was, err
}

// compareAndDelete is the script that everybody uses.
const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

// DeleteIf implements [bare.Server].
func (c commands) DeleteIf(key, value string) (bool, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.limit)
	defer cancel()
	n, err := c.client.Eval(ctx, compareAndDelete, []string{key}, value).Int()
	return n == 1, err
}
