package work

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/wire"
)

// goroutines are many goroutines that do the same thing once.
type goroutines struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	failed error // the first
}

// startAll starts n goroutines and returns when all of them run.
func startAll(ctx context.Context, n int, do func(ctx context.Context, i int) error) *goroutines {
	ctx, cancel := context.WithCancel(ctx)
	g := &goroutines{cancel: cancel}
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

// end cancels the goroutines and waits for them.
func (g *goroutines) end() error {
	g.cancel()
	g.done.Wait()
	return g.failed
}

// awaitQuiet waits until no commands have been sent for the time calm. A library that polls never
// comes to rest, so the wait ends after the limit.
func awaitQuiet(ctx context.Context, sent *wire.Counter, calm, limit time.Duration) error {
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
