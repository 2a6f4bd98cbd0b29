package redlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver/drivertest/hostile"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// neighbour is a client of some of the servers, which writes where locks are kept.
type neighbour struct {
	clients []goredis.UniversalClient
}

// write writes something on the servers of a mask. Forms are values that the scripts know, with anything in
// them, and values that they do not know.
func (n *neighbour) write(mask, form uint8, a, b string, score float64, ms int64) {
	ctx := context.Background()
	for i, c := range n.clients {
		if mask>>i&1 == 0 {
			continue
		}
		do := func(args ...any) { _ = c.Do(ctx, args...).Err() } // what the server refuses does not matter
		switch form % 9 {
		case 0:
			do("SET", "lock:bad", a)
		case 1:
			do("SET", "{lock:bad}:token", a)
		case 2: // a holder
			do("SET", "lock:bad", a+"\n"+b+"\n", "PX", 60_000)
		case 3: // the present holder, with another detail
			was, _ := c.Get(ctx, "lock:bad").Result()
			do("SET", "lock:bad", was+a, "PX", 60_000)
		case 4: // waiters
			do("ZADD", "{lock:bad}:queue", score, a)
			do("HSET", "{lock:bad}:info", "w"+a, b)
		case 5: // shared holders
			do("SET", "lock:bad", "shared\n"+b, "PX", 60_000)
			do("ZADD", "{lock:bad}:holders", score, a)
			do("HSET", "{lock:bad}:info", "h"+a, b)
		case 6: // no lock at all
			do("DEL", "lock:bad")
			do("RPUSH", "lock:bad", a, b)
		case 7:
			do("DEL", "{lock:bad}:token")
			do("HSET", "{lock:bad}:token", a, b)
		case 8:
			do("HSET", "{lock:}:removal-texts", a, b)
			do("ZADD", "{lock:}:removals", score, a)
		}
		switch {
		case ms > 0:
			do("PEXPIRE", "lock:bad", ms)
		case ms < 0:
			do("DEL", "lock:bad")
		}
	}
}

// clean removes what the last round has left, but not what the servers know of themselves.
func (n *neighbour) clean(t testing.TB) {
	for _, c := range n.clients {
		for _, pattern := range []string{"*lock:bad*", "*lock:good*", "{lock:}:removal*"} {
			keys, err := c.Keys(context.Background(), pattern).Result()
			if err == nil && len(keys) > 0 {
				err = c.Del(context.Background(), keys...).Err()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Whatever a neighbour writes into the keys of a name, on a few of the servers or on all, nobody crashes,
// hangs, or wrongly believes that it holds the name. All other names are still listed.
func FuzzWhatNeighboursWrite(f *testing.F) {
	n := new(neighbour)
	for range 3 {
		s := redisserver.ForTest(f, redisserver.Config{})
		c := goredis.NewClient(&goredis.Options{Addr: s.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
		f.Cleanup(func() { _ = c.Close() })
		n.clients = append(n.clients, c)
	}
	engine := func() *redlock.Engine {
		e, err := redlock.New(context.Background(), n.clients, redlock.WithNodes(redis.WithoutFailoverGuard()),
			redlock.WithNodeTimeout(2*time.Second))
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = e.Close() })
		return e
	}
	a, b := engine(), engine()
	for _, mask := range []uint8{3, 7} { // on two and on all
		for form := range uint8(9) {
			f.Add(uint8(hostile.Free), mask, form, "9007199254740991", "-1", 0.5, int64(0))
			f.Add(uint8(hostile.Exclusive), mask, form, "", "x 1 1.5 1000 1 1 1 - 1 p\ntext", 0.4, int64(1)<<60)
		}
	}
	f.Add(uint8(hostile.Exclusive), uint8(1), uint8(3), "x", "9007199254740991 1 1", 1e15, int64(0))
	f.Add(uint8(hostile.Exclusive), uint8(1), uint8(0), "nan", "", -1e300,
		int64(-1)) // who is first on a server that lost its key asks the others for as long as a node has
	round := 0
	f.Fuzz(func(t *testing.T, state, mask, form uint8, x, y string, score float64, ms int64) {
		n.clean(t)
		round++
		hostile.Run(t, hostile.Trial{
			A: a, B: b, Name: "bad", Good: "good", State: hostile.StateOf(state), Prefix: fmt.Sprintf("%d.", round),
			Overwrite: func(string) { n.write(mask, form, x, y, score, ms) },
		})
	})
}
