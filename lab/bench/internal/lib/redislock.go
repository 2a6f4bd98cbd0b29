package lib

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

const redislockModule = "github.com/bsm/redislock"

// Redislock is github.com/bsm/redislock. It waits by trying again at regular intervals.
var Redislock = Library{
	Name:   "redislock",
	Module: redislockModule,
	On:     servers.OneRedis,
	Config: "30 s; LinearBackoff(16 ms), the shortest interval that its documentation recommends; " + plainClient,
	Open:   func(at Config) (Session, error) { return openRedislock(at, false) },
}

// RedislockAuto is Redislock with commands of many goroutines sent together.
var RedislockAuto = Library{
	Name:   "redislock auto",
	Module: redislockModule,
	On:     servers.OneRedis,
	Config: "as redislock; " + autoClient,
	Open:   func(at Config) (Session, error) { return openRedislock(at, true) },
}

type redislockSession struct {
	client  *goredis.Client
	locker  *redislock.Client
	options *redislock.Options
	ttl     time.Duration
}

func openRedislock(at Config, pipelined bool) (Session, error) {
	ttl := at.TTL
	if ttl == 0 {
		ttl = 30 * time.Second
	}
	c, commands, err := clients(at, pipelined)
	if err != nil {
		return nil, err
	}
	return &redislockSession{
		client:  c,
		locker:  redislock.New(commands),
		options: &redislock.Options{RetryStrategy: redislock.LinearBackoff(16 * time.Millisecond)},
		ttl:     ttl,
	}, nil
}

func (s *redislockSession) Lock(ctx context.Context, name string) (Held, error) {
	for {
		lock, err := s.locker.Obtain(ctx, name, s.ttl, s.options)
		switch {
		case err == nil:
			return Held{Release: func() error { return lock.Release(ctx) }}, nil
		case ctx.Err() != nil:
			return Held{}, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, goredis.ErrPoolTimeout):
			// The library itself gives up after its ttl, and after too many errors.
		default:
			return Held{}, err
		}
	}
}

func (s *redislockSession) Close() error { return s.client.Close() }
