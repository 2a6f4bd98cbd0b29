package work

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/lib"
	"github.com/leasehold-go/leasehold/bench/internal/wire"
)

// openWaiters: many goroutines of one process wait for a name that a second client holds all the time.
func openWaiters(e Env) (*Bench, error) {
	holder, err := e.Library.Open(e.At())
	if err != nil {
		return nil, err
	}
	w := &waiters{env: e, holder: holder}
	at := e.At()
	at.Sent = &w.sent
	if w.session, err = e.Library.Open(at); err != nil {
		return nil, errors.Join(err, holder.Close())
	}
	return &Bench{Round: w.round, Close: func() error { return errors.Join(w.session.Close(), holder.Close()) }}, nil
}

type waiters struct {
	env             Env
	sent            wire.Counter
	holder, session lib.Session
}

func (w *waiters) round(ctx context.Context, label string, d time.Duration) (_ Sample, err error) {
	name := w.env.Mark + "waiters:" + label
	held, err := w.holder.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.Release()) }()

	// Goroutines that only wait, for comparison.
	bare := w.crowd(ctx, func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	})
	bareHeap, bareStacks := memory()
	if err := bare.end(); err != nil {
		return nil, err
	}

	began := w.sent.Commands()
	all := w.crowd(ctx, func(ctx context.Context) error {
		if _, err := w.session.Lock(ctx, name); err == nil {
			return errors.New("exclusion is violated: a waiter was granted what another holds")
		} else if ctx.Err() == nil {
			return err
		}
		return nil
	})
	defer func() { err = errors.Join(err, all.end()) }()
	if err := w.quiet(ctx); err != nil {
		return nil, err
	}
	joining := w.sent.Commands() - began
	heap, stacks := memory()
	sent, since := w.sent.Commands(), time.Now()
	if err := pause(ctx, d); err != nil {
		return nil, err
	}
	n := float64(w.env.Plan.Size)
	return Sample{
		{idleCommands, "/s", perSecond(int(w.sent.Commands()-sent), time.Since(since))},
		{waiterMemory, "B", (heap - bareHeap + stacks - bareStacks) / n},
		{"of it, stack", "B", (stacks - bareStacks) / n},
		{"commands until all wait", "", float64(joining)},
	}, nil
}

// quiet waits until no more commands are sent. A library that polls never comes to rest, and is not waited for.
func (w *waiters) quiet(ctx context.Context) error {
	const calm, limit = 300 * time.Millisecond, 2 * time.Second
	for began := time.Now(); time.Since(began) < limit; {
		before := w.sent.Commands()
		if err := pause(ctx, calm); err != nil {
			return err
		}
		if w.sent.Commands() == before {
			return nil
		}
	}
	return nil
}

// gathering is many goroutines that do the same.
type gathering struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	failed error // the first
}

// crowd starts goroutines and returns when all of them run.
func (w *waiters) crowd(ctx context.Context, do func(context.Context) error) *gathering {
	ctx, cancel := context.WithCancel(ctx)
	g := &gathering{cancel: cancel}
	var started sync.WaitGroup
	started.Add(w.env.Plan.Size)
	for range w.env.Plan.Size {
		g.done.Go(func() {
			started.Done()
			if err := do(ctx); err != nil {
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
