package lib

import (
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/redis"
)

const onOneStarted = "defaults (30 s, renewed every third; tokens), but WithoutFailoverGuard, as the server has just " +
	"been started; "

// Leasehold is this library on its Redis engine.
var Leasehold = Library{
	Name:   "leasehold",
	Module: tree,
	On:     servers.OneRedis,
	Ours:   true,
	Config: onOneStarted + plainClient,
	Open:   func(at Config) (Session, error) { return openLeasehold(at, false) },
}

// LeaseholdLinger is Leasehold that keeps a released lock until another client asks for it.
var LeaseholdLinger = Library{
	Name:   "leasehold linger",
	Module: tree,
	On:     servers.OneRedis,
	Ours:   true,
	Config: "as leasehold, with Linger(10 s)",
	Open: func(at Config) (Session, error) {
		return openLeasehold(at, false, func(s *leaseholdSession) {
			s.options = append(s.options, leasehold.Linger(10*time.Second))
		})
	},
}

// LeaseholdLater is Leasehold that does not wait for the answers to its releases.
var LeaseholdLater = Library{
	Name:   "leasehold later",
	Module: tree,
	On:     servers.OneRedis,
	Ours:   true,
	Config: "as leasehold, with ReleaseLater",
	Open: func(at Config) (Session, error) {
		return openLeasehold(at, false, func(s *leaseholdSession) { s.later = true })
	},
}

// LeaseholdAuto is Leasehold with commands of many goroutines sent together.
var LeaseholdAuto = Library{
	Name:   "leasehold auto",
	Module: tree,
	On:     servers.OneRedis,
	Ours:   true,
	Config: "as leasehold; " + autoClient,
	Open:   func(at Config) (Session, error) { return openLeasehold(at, true) },
}

func openLeasehold(at Config, pipelined bool, change ...func(*leaseholdSession)) (Session, error) {
	c := client(at)
	var commands goredis.UniversalClient = c
	if pipelined {
		pipe, err := c.AsyncAutoPipelineWithOptions(pipelineOptions())
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		commands = pipe
	}
	e, err := redis.New(commands, redis.WithoutFailoverGuard())
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	s := newLeaseholdSession(at, e, e.Close, c.Close)
	for _, f := range change {
		f(s)
	}
	return s, nil
}
