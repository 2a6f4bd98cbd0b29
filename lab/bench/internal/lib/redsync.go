package lib

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis9 "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

const (
	redsyncModule = "github.com/go-redsync/redsync/v4"
	redsyncConfig = "defaults (8 s; tries again after 50 to 250 ms), but without the default limit of 32 tries; "
)

// Redsync is github.com/go-redsync/redsync on one node. It waits by trying again at random
// intervals.
var Redsync = Library{
	Name:   "redsync",
	Module: redsyncModule,
	On:     servers.OneRedis,
	Config: redsyncConfig + plainClient,
	Open:   func(at Config) (Session, error) { return openRedsync(at, false) },
}

// RedsyncAuto is Redsync with commands of many goroutines sent together.
var RedsyncAuto = Library{
	Name:   "redsync auto",
	Module: redsyncModule,
	On:     servers.OneRedis,
	Config: "as redsync; " + autoClient,
	Open:   func(at Config) (Session, error) { return openRedsync(at, true) },
}

// RedsyncFive is redsync on five nodes.
var RedsyncFive = Library{
	Name:   "redsync five",
	Module: redsyncModule,
	On:     servers.FiveRedis,
	Config: "as redsync, for each node",
	Open:   func(at Config) (Session, error) { return openRedsyncFive(at) },
}

// RedsyncFast is redsync on five nodes with the option that does not wait for the slowest of them.
var RedsyncFast = Library{
	Name:   "redsync five fast",
	Module: redsyncModule,
	On:     servers.FiveRedis,
	Config: "as redsync five, with WithFailFast, which its documentation recommends against nodes that hang",
	Open:   func(at Config) (Session, error) { return openRedsyncFive(at, redsync.WithFailFast(true)) },
}

// endless is more attempts than any round has time for.
const endless = 1 << 30

type redsyncSession struct {
	clients []*goredis9.Client
	redsync *redsync.Redsync
	options []redsync.Option
}

func openRedsync(at Config, pipelined bool) (Session, error) {
	c, commands, err := clients(at, pipelined)
	if err != nil {
		return nil, err
	}
	return newRedsync(at, []*goredis9.Client{c}, []redis.Pool{goredis.NewPool(commands)}), nil
}

func openRedsyncFive(at Config, more ...redsync.Option) (Session, error) {
	var (
		all   []*goredis9.Client
		pools []redis.Pool
	)
	for _, addr := range at.Addrs {
		c := clientTo(at, addr)
		all, pools = append(all, c), append(pools, goredis.NewPool(c))
	}
	return newRedsync(at, all, pools, more...), nil
}

func newRedsync(at Config, all []*goredis9.Client, pools []redis.Pool, more ...redsync.Option) *redsyncSession {
	s := &redsyncSession{clients: all, redsync: redsync.New(pools...),
		options: append(more, redsync.WithTries(endless))}
	if at.TTL != 0 {
		s.options = append(s.options, redsync.WithExpiry(at.TTL))
	}
	return s
}

func (s *redsyncSession) Lock(ctx context.Context, name string) (Held, error) {
	m := s.redsync.NewMutex(name, s.options...)
	if err := m.LockContext(ctx); err != nil {
		return Held{}, err
	}
	return Held{Release: func() error {
		held, err := m.UnlockContext(ctx)
		if err == nil && !held {
			err = errNotHeld
		}
		return err
	}}, nil
}

func (s *redsyncSession) Close() error {
	var errs []error
	for _, c := range s.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
