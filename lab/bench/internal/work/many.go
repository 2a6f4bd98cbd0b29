package work

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// openMany prepares a workload with many goroutines of one process, each with its own name.
func openMany(e Env) (*Bench, error) {
	session, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, err
	}
	names := make([]string, e.Plan.Size)
	tokens := make([]uint64, e.Plan.Size)
	for i := range names {
		names[i] = fmt.Sprintf("%smany:%d", e.Mark, i)
	}
	return &Bench{Close: session.Close, Round: func(ctx context.Context, _ string, d time.Duration) (Sample, error) {
		var done atomic.Int64
		u, err := measure(ctx, e.Backend, func() error {
			all := startWorkers(ctx, len(names), func(ctx context.Context, i int) error {
				done.Add(1)
				return pair(ctx, session, names[i], &tokens[i])
			})
			paused := pause(all.ctx, d)
			if _, err := all.stop(patience); err != nil {
				return err
			}
			return paused
		})
		if err != nil {
			return nil, err
		}
		n := int(done.Load())
		client, server := u.each(n)
		return Sample{
			{pairs, "/s", perSecond(n, u.time)},
			{clientTime, "µs", client},
			{serverTime, "µs", server},
		}, nil
	}}, nil
}
