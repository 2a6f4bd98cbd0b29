package lib

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// LeaseholdFive is this library on a majority of five nodes.
var LeaseholdFive = Library{
	Name:   "leasehold five",
	Module: tree,
	On:     servers.FiveRedis,
	Ours:   true,
	Config: "as leasehold, on the engine redlock with its defaults; " + fiveClient,
	Open:   func(at Config) (Session, error) { return openLeaseholdFive(at, false) },
}

// LeaseholdFiveAuto is LeaseholdFive with commands of many goroutines sent together.
var LeaseholdFiveAuto = Library{
	Name:   "leasehold five auto",
	Module: tree,
	On:     servers.FiveRedis,
	Ours:   true,
	Config: "as leasehold five; " + autoClient,
	Open:   func(at Config) (Session, error) { return openLeaseholdFive(at, true) },
}

func openLeaseholdFive(at Config, pipelined bool) (Session, error) {
	var (
		nodes   []goredis.UniversalClient
		closers []func() error
	)
	closeAll := func() error { return closeInOrder(closers) }
	for _, addr := range at.Addrs {
		c := nodeClient(at, addr)
		closers = append(closers, c.Close)
		var commands goredis.UniversalClient = c
		if pipelined {
			pipe, err := c.AsyncAutoPipelineWithOptions(pipelineOptions())
			if err != nil {
				return nil, errors.Join(err, closeAll())
			}
			commands = pipe
		}
		nodes = append(nodes, commands)
	}
	options := []redlock.Option{redlock.WithNodes(redis.WithoutFailoverGuard())}
	if at.Patience != 0 {
		options = append(options, redlock.WithNodeTimeout(at.Patience))
	}
	e, err := redlock.New(context.Background(), nodes, options...)
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	return newLeaseholdSession(at, e, e.Close, closeAll), nil
}
