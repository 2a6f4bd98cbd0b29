package work

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
)

// turnClients is how many clients take turns.
const turnClients = 8

// turnWorkloads returns the workloads in which a few clients want the same names again and again: what a turn costs
// under contention. Their names begin with the prefix, if there is one.
func turnWorkloads(prefix, about, base string, libraries []lib.Library, many, held int) (all []Workload) {
	if prefix != "" {
		prefix += "-"
	}
	for _, kind := range []struct {
		name, about string
		names       int
		hold        time.Duration
	}{
		{"turns-one", "want one name again and again, and release it at once", 1, 0},
		{"turns-many", fmt.Sprintf("want the same %d names again and again, each name in a goroutine of its own, "+
			"and release them at once", many), many, 0},
		{"turns-held", fmt.Sprintf("want the same %d names again and again, each name in a goroutine of its own, "+
			"and hold them for 5 ms", held), held, heldFor},
	} {
		plan := Plan{Rounds: 7, Warm: time.Second / 4, Round: 600 * time.Millisecond,
			Size: turnClients, Names: kind.names, Hold: kind.hold}
		short := plan
		short.Rounds, short.Warm, short.Round = 1, 0, 300*time.Millisecond
		all = append(all, Workload{
			Name:      prefix + kind.name,
			About:     fmt.Sprintf("%s%d clients with connections of their own %s", about, turnClients, kind.about),
			Libraries: libraries,
			Full:      plan, Short: short,
			Main: turnRate, Base: base,
			Open: openTurns,
		})
	}
	return all
}

// turnBench is such a workload, prepared for one library.
type turnBench struct {
	env      Env
	sessions sessions
}

func openTurns(e Env) (*Bench, error) {
	all, err := openSessions(e, e.Plan.Size)
	if err != nil {
		return nil, err
	}
	t := &turnBench{env: e, sessions: all}
	return &Bench{Round: t.round, Close: all.close}, nil
}

func (t *turnBench) round(ctx context.Context, label string, d time.Duration) (Sample, error) {
	names := make([]string, t.env.Plan.Names)
	checkers := make([]*checker.Checker, len(names))
	for i := range names {
		names[i] = fmt.Sprintf("%sturns:%s:%d", t.env.Mark, label, i)
		checkers[i] = checker.New()
	}
	taken := make([]atomic.Int64, len(names)*len(t.sessions))
	all := startWorkers(ctx, len(taken), func(ctx context.Context, i int) error {
		client, name := i/len(names), i%len(names)
		held, err := t.sessions[client].Lock(ctx, names[name])
		if err != nil {
			return err
		}
		who := uint64(i + 1)
		checkers[name].Enter(who, held.Token)
		taken[i].Add(1)
		if t.env.Plan.Hold > 0 {
			err = pause(ctx, t.env.Plan.Hold)
		}
		checkers[name].Leave(who)
		return cmp.Or(held.Release(), err)
	})
	before := make([]int64, len(taken))
	u, err := usage{}, pause(all.ctx, d/2) // until the queues have formed
	if err == nil {
		for i := range taken {
			before[i] = taken[i].Load()
		}
		u, err = measure(all.ctx, t.env.Backend, func() error { return pause(all.ctx, d) })
	}
	counts, sum := make([]int, len(taken)), 0
	for i := range taken {
		counts[i] = int(taken[i].Load() - before[i])
		sum += counts[i]
	}
	_, failed := all.stop(patience)
	for _, c := range checkers {
		failed = cmp.Or(failed, c.Err())
	}
	if err := cmp.Or(failed, err); err != nil {
		return nil, err
	}
	most, fewest, unfair := stat.Fairness(counts)
	client, server := u.each(sum)
	return Sample{
		{turnRate, "/s", perSecond(sum, u.time)},
		{turnClientTime, "µs", client},
		{turnServerTime, "µs", server},
		{turnCommands, "", u.commands / float64(sum)},
		{"most turns", "", float64(most)},
		{"fewest turns", "", float64(fewest)},
		{unfairness, "", unfair},
	}, nil
}
