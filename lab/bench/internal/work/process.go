package work

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
)

// processSettles is how long goroutines of one process hand a name around before anything is
// counted.
const processSettles = 40 * time.Millisecond

// openProcess prepares a workload in which many goroutines of one process hand one name around.
func openProcess(e Env) (*Bench, error) {
	session, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, err
	}
	return &Bench{Close: session.Close,
		Round: func(ctx context.Context, label string, d time.Duration) (Sample, error) {
			p := &localHandOver{session: session, name: e.Mark + "process:" + label, checker: checker.New()}
			all := startWorkers(ctx, e.Plan.Size, p.turn)
			err := pause(all.ctx, processSettles)
			before, began := p.turns.Load(), time.Now()
			err = cmp.Or(err, pause(all.ctx, d))
			turns, took := p.turns.Load()-before, time.Since(began)
			// Libraries that poll would take longer for their last turn than the round lasts. Other
			// workloads check that no waiter is forgotten.
			_, failed := all.stop(0)
			if err := errors.Join(cmp.Or(failed, err), p.checker.Err()); err != nil {
				return nil, err
			}
			return Sample{
				{handOvers, "/s", perSecond(int(turns), took)},
				{toAnother, "%", p.toAnother()},
			}, nil
		}}, nil
}
