package lib

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"
)

// Redislock is github.com/bsm/redislock. It waits by trying again at regular intervals.
var Redislock = Library{
	Name:   "redislock",
	Module: "github.com/bsm/redislock",
	Config: "30 s; LinearBackoff(16 ms), the shortest interval that its documentation recommends; " + plainClient,
	Open:   openRedislock,
}

type redislockSession struct {
	client  *goredis.Client
	locker  *redislock.Client
	options *redislock.Options
	ttl     time.Duration
}

func openRedislock(at At) (Session, error) {
	ttl := at.TTL
	if ttl == 0 {
		ttl = 30 * time.Second
	}
	c := client(at)
	return &redislockSession{
		client:  c,
		locker:  redislock.New(c),
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
			// It gives up after its ttl by itself, and when there are too many of its kind.
		default:
			return Held{}, err
		}
	}
}

func (s *redislockSession) Close() error { return s.client.Close() }
