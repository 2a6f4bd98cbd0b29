package work

import (
	"context"
	"fmt"
	"time"
)

// openMemory prepares a workload in which one process takes many leases and holds them. Leases that
// are renewed automatically are renewed; the workload "held" measures what that costs.
func openMemory(e Env) (*Bench, error) {
	session, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, err
	}
	k := &leaseHolder{env: e, session: session}
	return &Bench{Close: session.Close,
		Round: func(ctx context.Context, label string, _ time.Duration) (Sample, error) {
			// The first lock opens connections and allocates what stays.
			first, err := session.Lock(ctx, fmt.Sprintf("%smemory:%s", e.Mark, label))
			if err != nil {
				return nil, err
			}
			heap, stacks := memory()
			before, err := e.Backend.Load(ctx)
			if err != nil {
				return nil, err
			}
			held, err := k.take(ctx, label)
			if err != nil {
				return nil, err
			}
			fullHeap, fullStacks := memory()
			after, err := e.Backend.Load(ctx)
			if err != nil {
				return nil, err
			}
			if lost, err := release(append(held, first)); lost > 0 {
				return nil,
					fmt.Errorf("%d of %d leases were lost within their ttl; the first says: %w", lost, len(held)+1, err)
			}
			n := float64(len(held))
			return Sample{
				{leaseMemory, "B", (fullHeap + fullStacks - heap - stacks) / n},
				{"of it, stack", "B", (fullStacks - stacks) / n},
				{"memory of the server per lease", "B", float64(after.Memory-before.Memory) / n},
			}, nil
		}}, nil
}
