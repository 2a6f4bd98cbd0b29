package lib

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/bench/internal/place"
	"github.com/leasehold-go/leasehold/redis"
)

const (
	tree         = "github.com/leasehold-go/leasehold"
	onOneStarted = "defaults (30 s, renewed every third; tokens), but WithoutFailoverGuard, as the server has just been started; "
)

// Leasehold is this library on its Redis engine.
var Leasehold = Library{
	Name:   "leasehold",
	Module: tree,
	On:     place.OneRedis,
	Ours:   true,
	Config: onOneStarted + plainClient,
	Open:   func(at At) (Session, error) { return openLeasehold(at, false) },
}

// LeaseholdAuto is Leasehold with commands of many goroutines sent together.
var LeaseholdAuto = Library{
	Name:   "leasehold auto",
	Module: tree,
	On:     place.OneRedis,
	Ours:   true,
	Config: onOneStarted + autoClient,
	Open:   func(at At) (Session, error) { return openLeasehold(at, true) },
}

type leaseholdSession struct {
	redis   *goredis.Client
	engine  *redis.Engine
	client  *leasehold.Client
	options []leasehold.Option
}

func openLeasehold(at At, pipelined bool) (Session, error) {
	c := client(at)
	var commands goredis.UniversalClient = c
	if pipelined {
		pipe, err := c.AsyncAutoPipelineWithOptions(together())
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		commands = pipe
	}
	e, err := redis.New(commands, redis.WithoutFailoverGuard())
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	s := &leaseholdSession{redis: c, engine: e, client: leasehold.New(e)}
	if at.TTL != 0 {
		s.options = append(s.options, leasehold.TTL(at.TTL))
	}
	return s, nil
}

func (s *leaseholdSession) Lock(ctx context.Context, name string) (Held, error) {
	lease, err := s.client.Mutex(name, s.options...).Lock(ctx)
	if err != nil {
		return Held{}, err
	}
	return Held{Token: lease.Token(), Release: lease.Release}, nil
}

func (s *leaseholdSession) Close() error {
	return errors.Join(s.client.Close(), s.engine.Close(), s.redis.Close())
}
