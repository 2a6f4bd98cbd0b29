package lib

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// Floor is the least that a lock on one Redis can cost: SET NX PX to lock, and to unlock a script
// that deletes the key if it still belongs to the caller. It has neither tokens nor renewal, and
// does not wait.
var Floor = Library{
	Name:   "floor",
	Module: goRedis,
	On:     servers.OneRedis,
	Config: "SET NX PX 30 s, then EVALSHA of compare-and-delete; " + plainClient,
	Open:   func(at Config) (Session, error) { return openFloor(at, false) },
}

// FloorAuto is Floor with commands of many goroutines sent together.
var FloorAuto = Library{
	Name:   "floor auto",
	Module: goRedis,
	On:     servers.OneRedis,
	Config: "as floor; " + autoClient,
	Open:   func(at Config) (Session, error) { return openFloor(at, true) },
}

var compareAndDelete = goredis.NewScript(
	`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

type floor struct {
	client   *goredis.Client
	commands goredis.UniversalClient
	id       string
	attempts atomic.Uint64
	ttl      time.Duration
}

func openFloor(at Config, pipelined bool) (Session, error) {
	c, commands, err := clients(at, pipelined)
	if err != nil {
		return nil, err
	}
	ttl := at.TTL
	if ttl == 0 {
		ttl = 30 * time.Second
	}
	return &floor{client: c, commands: commands, id: rand.Text(), ttl: ttl}, nil
}

func (f *floor) Lock(ctx context.Context, name string) (Held, error) {
	owner := f.id + strconv.FormatUint(f.attempts.Add(1), 16)
	took, err := f.commands.SetNX(ctx, name, owner, f.ttl).Result()
	switch {
	case err != nil:
		return Held{}, err
	case !took:
		return Held{}, errors.New("the floor cannot wait: give it names of its own")
	}
	return Held{Release: func() error {
		deleted, err := compareAndDelete.Run(ctx, f.commands, []string{name}, owner).Int()
		if err == nil && deleted != 1 {
			err = errNotHeld
		}
		return err
	}}, nil
}

func (f *floor) Close() error { return f.client.Close() }

var errNotHeld = errors.New("the lock was no longer held")
