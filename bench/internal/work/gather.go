package work

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/wire"
)

// gathering is many goroutines that do the same, once.
type gathering struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	failed error // the first
}

// gather starts n goroutines and returns when all of them run.
func gather(ctx context.Context, n int, do func(ctx context.Context, i int) error) *gathering {
	ctx, cancel := context.WithCancel(ctx)
	g := &gathering{cancel: cancel}
	var started sync.WaitGroup
	started.Add(n)
	for i := range n {
		g.done.Go(func() {
			started.Done()
			if err := do(ctx, i); err != nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.failed == nil {
					g.failed = err
				}
			}
		})
	}
	started.Wait()
	return g
}

// end lets all of them go home.
func (g *gathering) end() error {
	g.cancel()
	g.done.Wait()
	return g.failed
}

// quiet waits until no more commands are sent for some time. A library that polls never comes to rest, and is not waited for
// beyond the limit.
func quiet(ctx context.Context, sent *wire.Counter, calm, limit time.Duration) error {
	for began := time.Now(); time.Since(began) < limit; {
		before := sent.Commands()
		if err := pause(ctx, calm); err != nil {
			return err
		}
		if sent.Commands() == before {
			return nil
		}
	}
	return nil
}
