package lib

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

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

func openLeaseholdFive(at At, pipelined bool) (Session, error) {
	var (
		nodes   []goredis.UniversalClient
		closers []func() error
	)
	closeAll := func() error { return inOrder(closers) }
	for _, addr := range at.Addrs {
		c := nodeClient(at, addr)
		closers = append(closers, c.Close)
		var commands goredis.UniversalClient = c
		if pipelined {
			pipe, err := c.AsyncAutoPipelineWithOptions(together())
			if err != nil {
				return nil, errors.Join(err, closeAll())
			}
			commands = pipe
		}
		nodes = append(nodes, commands)
	}
	e, err := redlock.New(context.Background(), nodes, redlock.WithNodes(redis.WithoutFailoverGuard()))
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	return ours(at, e, e.Close, closeAll), nil
}
