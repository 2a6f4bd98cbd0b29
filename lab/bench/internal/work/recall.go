package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
)

// openRecall prepares a workload in which one client has used names, and may have kept their locks, and another one
// wants them, one after the other. Half of them it locks, and half of them it tries.
func openRecall(e Env) (*Bench, error) {
	all, err := openSessions(e, 2)
	if err != nil {
		return nil, err
	}
	r := &recallBench{env: e, first: all[0]}
	var ok bool
	if r.second, ok = all[1].(lib.Trier); !ok {
		return nil, errors.Join(fmt.Errorf("%s cannot try", e.Library.Name), all.close())
	}
	return &Bench{Round: r.round, Close: all.close}, nil
}

type recallBench struct {
	env    Env
	first  lib.Session
	second lib.Trier
}

// wish is one way in which the second client asks, and what that took.
type wish struct {
	ask     func(ctx context.Context, name string) (held lib.Held, granted bool, err error)
	took    []time.Duration
	refused int
	cost    usage
}

func (r *recallBench) round(ctx context.Context, label string, d time.Duration) (Sample, error) {
	lock := &wish{ask: func(ctx context.Context, name string) (lib.Held, bool, error) {
		held, err := r.second.Lock(ctx, name)
		return held, err == nil, err
	}}
	try := &wish{ask: r.second.TryLock}
	for began, pass := time.Now(), 0; pass == 0 || time.Since(began) < d; pass++ {
		for i, w := range []*wish{lock, try} {
			if err := r.pass(ctx, w, fmt.Sprintf("%srecall:%s:%d:%d", r.env.Mark, label, i, pass)); err != nil {
				return nil, err
			}
		}
	}
	of := func(w *wish, p float64) float64 { return float64(stat.Percentile(w.took, p)) / millisecond }
	each := func(w *wish) float64 { return w.cost.commands / float64(len(w.took)+w.refused) }
	return Sample{
		{recallP50, "ms", of(lock, 0.5)},
		{"Lock p99", "ms", of(lock, 0.99)},
		{"server commands for a Lock", "", each(lock)},
		{recallTryP50, "ms", of(try, 0.5)},
		{"TryLock p99", "ms", of(try, 0.99)},
		{"server commands for a TryLock", "", each(try)},
		{"TryLocks refused", "", float64(try.refused)},
	}, nil
}

// pass lets the first client use some names, and then the second one ask for them. What the server is asked meanwhile
// includes the first client's releases.
func (r *recallBench) pass(ctx context.Context, w *wish, prefix string) error {
	names := make([]string, r.env.Plan.Names)
	tokens := make([]uint64, len(names))
	for i := range names {
		names[i] = fmt.Sprintf("%s:%d", prefix, i)
		if err := pair(ctx, r.first, names[i], &tokens[i]); err != nil {
			return err
		}
	}
	var all []lib.Held
	u, err := measure(ctx, r.env.Backend, func() error {
		for i, name := range names {
			began := time.Now()
			held, granted, err := w.ask(ctx, name)
			took := time.Since(began)
			switch {
			case err != nil:
				return err
			case !granted:
				w.refused++
				continue
			case held.Token != 0 && held.Token <= tokens[i]:
				return fmt.Errorf("order is violated: token %d came after %d", held.Token, tokens[i])
			}
			w.took = append(w.took, took)
			all = append(all, held)
		}
		return nil
	})
	w.cost.commands += u.commands
	for _, held := range all {
		err = errors.Join(err, held.Release())
	}
	return err
}
