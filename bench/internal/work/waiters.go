package work

import (
	"context"
	"errors"
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
	bare := gather(ctx, w.env.Plan.Size, func(ctx context.Context, _ int) error {
		<-ctx.Done()
		return nil
	})
	bareHeap, bareStacks := memory()
	if err := bare.end(); err != nil {
		return nil, err
	}

	began := w.sent.Commands()
	all := gather(ctx, w.env.Plan.Size, func(ctx context.Context, _ int) error {
		if _, err := w.session.Lock(ctx, name); err == nil {
			return errors.New("exclusion is violated: a waiter was granted what another holds")
		} else if ctx.Err() == nil {
			return err
		}
		return nil
	})
	defer func() { err = errors.Join(err, all.end()) }()
	if err := quiet(ctx, &w.sent, 300*time.Millisecond, 2*time.Second); err != nil {
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
