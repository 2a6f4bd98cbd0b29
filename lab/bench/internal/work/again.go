package work

import (
	"context"
	"time"
)

// pairsPerLook is how many pairs are made between two looks at the clock, which would cost as much as a tenth of one.
const pairsPerLook = 64

// openAgain prepares a workload in which one goroutine locks and releases one name again and again. It differs from
// openFree only in that it does not measure each pair, as the fastest take a microsecond.
func openAgain(e Env) (*Bench, error) {
	session, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, err
	}
	name := e.Mark + "again"
	var token uint64
	return &Bench{Close: session.Close, Round: func(ctx context.Context, _ string, d time.Duration) (Sample, error) {
		ctx = context.WithoutCancel(ctx)
		n := 0
		u, err := measure(ctx, e.Backend, func() error {
			for began := time.Now(); time.Since(began) < d; {
				for range pairsPerLook {
					if err := pair(ctx, session, name, &token); err != nil {
						return err
					}
					n++
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		client, server := u.each(n)
		return Sample{
			{pairs, "/s", perSecond(n, u.time)},
			{clientTime, "µs", client},
			{serverTime, "µs", server},
			{pairCommands, "", u.commands / float64(n)},
		}, nil
	}}, nil
}
