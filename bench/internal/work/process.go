package work

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/judge"
)

// processSettles is how long goroutines of one process pass a name around before anything counts.
const processSettles = 40 * time.Millisecond

// openProcess: many goroutines of one process pass one name around.
func openProcess(e Env) (*Bench, error) {
	session, err := e.Library.Open(e.At())
	if err != nil {
		return nil, err
	}
	return &Bench{Close: session.Close, Round: func(ctx context.Context, label string, d time.Duration) (Sample, error) {
		p := &passing{session: session, name: e.Mark + "process:" + label, judge: judge.New()}
		all := muster(ctx, e.Plan.Size, p.turn)
		err := pause(all.ctx, processSettles)
		before, began := p.turns.Load(), time.Now()
		err = cmp.Or(err, pause(all.ctx, d))
		turns, took := p.turns.Load()-before, time.Since(began)
		// Those who poll would take longer to have their last turn than the round is. Whether anybody is forgotten is the subject of others.
		_, failed := all.dismiss(0)
		if err := errors.Join(cmp.Or(failed, err), p.judge.Verdict()); err != nil {
			return nil, err
		}
		return Sample{
			{handOvers, "/s", perSecond(int(turns), took)},
			{toAnother, "%", p.toAnother()},
		}, nil
	}}, nil
}
