package work

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

const (
	// The processor shares are scaled to this many leases with this TTL.
	heldLeases = 100_000
	heldTTL    = 30 * time.Second
	// takers is how many goroutines take and release the leases.
	takers = 64
)

// openHeld prepares a workload in which one process holds many leases for a round, and renews them.
func openHeld(e Env) (*Bench, error) {
	session, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, err
	}
	h := &leaseHolder{env: e, session: session}
	return &Bench{Round: h.round, Close: session.Close}, nil
}

type leaseHolder struct {
	env     Env
	session lib.Session
}

func (h *leaseHolder) round(ctx context.Context, label string, d time.Duration) (Sample, error) {
	idle, err := measure(ctx, h.env.Backend, func() error { return pause(ctx, time.Second) })
	if err != nil {
		return nil, err
	}
	heap, stacks := memory()
	began := time.Now()
	held, err := h.take(ctx, label)
	if err != nil {
		return nil, err
	}
	taking := time.Since(began)
	fullHeap, fullStacks := memory()
	busy, err := measure(ctx, h.env.Backend, func() error { return pause(ctx, d) })
	if err != nil {
		return nil, err
	}
	lost, first := release(held)
	if lost > 0 {
		h.env.Log("%d of %d leases were lost; the first says: %v", lost, len(held), first)
	}
	n := float64(len(held))
	// This many leases with that TTL cause as much work per second as these with theirs.
	scale := heldLeases / n * float64(h.env.Plan.TTL) / float64(heldTTL)
	client, server := busy.share()
	idleClient, idleServer := idle.share()
	return Sample{
		{clientShare, "%", max(client-idleClient, 0) * scale},
		{serverShare, "%", max(server-idleServer, 0) * scale},
		{"client: share of one core, as measured", "%", client},
		{"server: share of one core, as measured", "%", server},
		{leasesLost, "", float64(lost)},
		{leaseMemory, "B", (fullHeap + fullStacks - heap - stacks) / n},
		{"leases taken", "/s", n / taking.Seconds()},
	}, nil
}

func (h *leaseHolder) take(ctx context.Context, label string) ([]lib.Held, error) {
	all := make([]lib.Held, h.env.Plan.Size)
	var next atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	for range takers {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(all)) && gctx.Err() == nil; i = next.Add(1) - 1 {
				var err error
				if all[i], err = h.session.Lock(ctx, fmt.Sprintf("%sheld:%s:%d", h.env.Mark, label, i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all, g.Wait()
}

// release releases all leases, and returns how many were not held any more, and the error of the
// first of those.
func release(all []lib.Held) (lost int64, first error) {
	var (
		next, failed atomic.Int64
		once         sync.Once
		done         sync.WaitGroup
	)
	for range takers {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
				if err := all[i].Release(); err != nil {
					failed.Add(1)
					once.Do(func() { first = err })
				}
			}
		})
	}
	done.Wait()
	return failed.Load(), first
}
