package work

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
)

// awayOneIn is how rarely a client wants a name of another one.
const awayOneIn = 100

// stickyBench is a workload in which each client wants its own names again and again, and now and then one of another
// client. The names are the same in all rounds: a client that may keep its locks has them after the warm-up.
type stickyBench struct {
	env      Env
	sessions sessions
	names    []string // those of the first client, of the second, …
	checkers []*checker.Checker
}

func openSticky(e Env) (*Bench, error) {
	all, err := openSessions(e, e.Plan.Size)
	if err != nil {
		return nil, err
	}
	s := &stickyBench{env: e, sessions: all}
	for i := range e.Plan.Size * e.Plan.Names {
		s.names = append(s.names, fmt.Sprintf("%ssticky:%d", e.Mark, i))
		s.checkers = append(s.checkers, checker.New())
	}
	return &Bench{Round: s.round, Close: all.close}, nil
}

// want returns the number of the name that a client wants next.
func (s *stickyBench) want(client int) int {
	clients, names := len(s.sessions), s.env.Plan.Names
	if clients > 1 && rand.N(awayOneIn) == 0 {
		client = (client + 1 + rand.N(clients-1)) % clients
	}
	return client*names + rand.N(names)
}

func (s *stickyBench) round(ctx context.Context, _ string, d time.Duration) (Sample, error) {
	var taken atomic.Int64
	all := startWorkers(ctx, len(s.sessions), func(ctx context.Context, client int) error {
		name := s.want(client)
		held, err := s.sessions[client].Lock(ctx, s.names[name])
		if err != nil {
			return err
		}
		who := uint64(client + 1)
		s.checkers[name].Enter(who, held.Token)
		taken.Add(1)
		s.checkers[name].Leave(who)
		return held.Release()
	})
	var before int64
	u, err := usage{}, pause(all.ctx, d/4)
	if err == nil {
		before = taken.Load()
		u, err = measure(all.ctx, s.env.Backend, func() error { return pause(all.ctx, d) })
	}
	turns := int(taken.Load() - before)
	_, failed := all.stop(patience)
	for _, c := range s.checkers {
		failed = cmp.Or(failed, c.Err())
	}
	if err := cmp.Or(failed, err); err != nil {
		return nil, err
	}
	client, server := u.each(turns)
	return Sample{
		{turnRate, "/s", perSecond(turns, u.time)},
		{turnClientTime, "µs", client},
		{turnServerTime, "µs", server},
		{turnCommands, "", u.commands / float64(turns)},
	}, nil
}
