package lib

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/bench/internal/place"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// LeaseholdFive is this library on a majority of five nodes.
var LeaseholdFive = Library{
	Name:   "leasehold five",
	Module: tree,
	On:     place.FiveRedis,
	Ours:   true,
	Config: onOneStarted + "engine redlock with its defaults; " + fiveClient,
	Open:   func(at At) (Session, error) { return openLeaseholdFive(at, false) },
}

// LeaseholdFiveAuto is LeaseholdFive with commands of many goroutines sent together.
var LeaseholdFiveAuto = Library{
	Name:   "leasehold five auto",
	Module: tree,
	On:     place.FiveRedis,
	Ours:   true,
	Config: onOneStarted + "engine redlock with its defaults; each node: " + autoClient,
	Open:   func(at At) (Session, error) { return openLeaseholdFive(at, true) },
}

type leaseholdFive struct {
	nodes   []*goredis.Client
	engine  *redlock.Engine
	client  *leasehold.Client
	options []leasehold.Option
}

func openLeaseholdFive(at At, pipelined bool) (Session, error) {
	s := &leaseholdFive{}
	var clients []goredis.UniversalClient
	for _, addr := range at.Addrs {
		c := nodeClient(at, addr)
		s.nodes = append(s.nodes, c)
		var commands goredis.UniversalClient = c
		if pipelined {
			pipe, err := c.AsyncAutoPipelineWithOptions(together())
			if err != nil {
				return nil, errors.Join(err, s.closeNodes())
			}
			commands = pipe
		}
		clients = append(clients, commands)
	}
	e, err := redlock.New(context.Background(), clients, redlock.WithNodes(redis.WithoutFailoverGuard()))
	if err != nil {
		return nil, errors.Join(err, s.closeNodes())
	}
	s.engine, s.client = e, leasehold.New(e)
	if at.TTL != 0 {
		s.options = append(s.options, leasehold.TTL(at.TTL))
	}
	return s, nil
}

func (s *leaseholdFive) Lock(ctx context.Context, name string) (Held, error) {
	lease, err := s.client.Mutex(name, s.options...).Lock(ctx)
	if err != nil {
		return Held{}, err
	}
	return Held{Token: lease.Token(), Release: lease.Release}, nil
}

func (s *leaseholdFive) Close() error {
	return errors.Join(s.client.Close(), s.engine.Close(), s.closeNodes())
}

func (s *leaseholdFive) closeNodes() error {
	var errs []error
	for _, c := range s.nodes {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
