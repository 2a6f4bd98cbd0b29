package work

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/bench/internal/wire"
)

const (
	burstClients = 10
	// burstJoins is how long waiters may take to join. Libraries that poll never come to rest.
	burstJoins = time.Second
)

// openBurst prepares a workload in which many goroutines, spread over ten clients, come at once to
// a name that another client holds and then releases. Each wants it once.
func openBurst(e Env) (*Bench, error) {
	holder, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, err
	}
	b := &burst{env: e, holder: holder}
	at := e.LibConfig()
	at.Sent = &b.sent
	for range burstClients {
		s, err := e.Library.Open(at)
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		b.sessions = append(b.sessions, s)
		if p, ok := s.(lib.Preparer); ok {
			if err := p.Prepare((e.Plan.Size + burstClients - 1) / burstClients); err != nil {
				return nil, errors.Join(err, b.close())
			}
		}
	}
	return &Bench{Round: b.round, Close: b.close}, nil
}

type burst struct {
	env      Env
	sent     wire.Counter
	holder   lib.Session
	sessions []lib.Session
}

func (b *burst) close() error {
	errs := []error{b.holder.Close()}
	for _, s := range b.sessions {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// round ends at most d after the release, however many waiters have had their turn by then.
func (b *burst) round(ctx context.Context, label string, d time.Duration) (Sample, error) {
	name := b.env.Mark + "burst:" + label
	held, err := b.holder.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	t := &turns{checker: checker.New(), perWaiter: make([]atomic.Int32, b.env.Plan.Size),
		after: make([]time.Duration, b.env.Plan.Size), all: make(chan struct{})}
	t.checker.Enter(math.MaxUint64, held.Token)
	began := b.sent.Commands()
	all := startAll(ctx, b.env.Plan.Size, func(ctx context.Context, i int) error {
		return t.take(ctx, b.sessions[i%len(b.sessions)], name, i)
	})
	err = awaitQuiet(ctx, &b.sent, 100*time.Millisecond, burstJoins)
	joining := b.sent.Commands() - began
	before, failed := b.env.Backend.Load(ctx)
	err = errors.Join(err, failed)

	sent := b.sent.Commands()
	released := time.Now()
	t.released.Store(&released)
	t.checker.Leave(math.MaxUint64)
	err = errors.Join(err, held.Release())
	select {
	case <-t.all:
	case <-time.After(d):
	case <-ctx.Done():
	}
	t.over.Store(true)
	took, served := time.Since(released), int(t.served.Load())
	sent = b.sent.Commands() - sent
	after, failed := b.env.Backend.Load(ctx)
	if err := errors.Join(err, failed, all.end(), ctx.Err(), t.checker.Err()); err != nil {
		return nil, err
	}
	return t.sample(took, served, after.Commands-before.Commands, sent, joining), nil
}

// turns records the turns of a burst.
type turns struct {
	checker   *checker.Checker
	released  atomic.Pointer[time.Time] // nil while the name is held
	over      atomic.Bool               // later turns do not count
	served    atomic.Int64
	all       chan struct{}   // closed when every waiter has had a turn
	perWaiter []atomic.Int32  // number of turns
	after     []time.Duration // each waiter's wait after the release
}

func (t *turns) take(ctx context.Context, s lib.Session, name string, i int) error {
	held, err := s.Lock(ctx, name)
	switch {
	case err != nil && t.over.Load() && ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("a waiter of the burst: %w", err)
	}
	t.checker.Enter(uint64(i+1), held.Token)
	late := t.over.Load()
	if released := t.released.Load(); released != nil && !late {
		t.perWaiter[i].Add(1)
		t.after[i] = time.Since(*released)
	}
	t.checker.Leave(uint64(i + 1))
	err = held.Release()
	if late || err != nil && t.over.Load() && ctx.Err() != nil {
		return nil // its context has ended, which may have cut the release short
	}
	if t.served.Add(1) == int64(len(t.perWaiter)) {
		close(t.all)
	}
	return err
}

func (t *turns) sample(took time.Duration, served int, commands float64, sent, joining int64) Sample {
	var after []time.Duration
	most, fewest := int32(0), int32(math.MaxInt32)
	for i := range t.perWaiter {
		n := t.perWaiter[i].Load()
		most, fewest = max(most, n), min(fewest, n)
		if n > 0 {
			after = append(after, t.after[i])
		}
	}
	return Sample{
		{handOvers, "/s", perSecond(served, took)},
		{"waiters that had their turn", "", float64(served)},
		{"most turns", "", float64(most)},
		{"fewest turns", "", float64(fewest)},
		{"time until all had theirs, or the round ended", "ms", float64(took) / millisecond},
		{"turn after the release, p50", "ms", float64(stat.Percentile(after, 0.5)) / millisecond},
		{"turn after the release, p99", "ms", float64(stat.Percentile(after, 0.99)) / millisecond},
		{clientCommands, "", float64(sent) / float64(served)},
		{serverCommands, "", commands / float64(served)},
		{"client commands of each to join, within a second", "", float64(joining) / float64(len(t.perWaiter))},
	}
}
