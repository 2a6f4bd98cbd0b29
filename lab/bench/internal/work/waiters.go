package work

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/wire"
)

// openWaiters prepares a workload in which many goroutines of one process wait for a name that a
// second client holds all the time.
func openWaiters(e Env) (*Bench, error) { return openWaiting(e, 1) }

// openIdle prepares a workload in which many clients, each with its own connections, wait for a
// name that another client holds all the time.
func openIdle(e Env) (*Bench, error) { return openWaiting(e, e.Plan.Size) }

func openWaiting(e Env, clients int) (*Bench, error) {
	w := &waiters{env: e}
	at := e.LibConfig()
	for range clients + 1 {
		s, err := e.Library.Open(at)
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w.sessions = append(w.sessions, s)
		at.Sent = &w.sent // for all but the first
	}
	return &Bench{Round: w.round, Close: w.close}, nil
}

type waiters struct {
	env      Env
	sent     wire.Counter
	sessions []lib.Session // of the holder, then of the waiters
}

func (w *waiters) close() error {
	var errs []error
	for _, s := range w.sessions {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (w *waiters) round(ctx context.Context, label string, d time.Duration) (_ Sample, err error) {
	name := w.env.Mark + "waiters:" + label
	held, err := w.sessions[0].Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.Release()) }()

	// Goroutines that only wait are the baseline.
	bare := startAll(ctx, w.env.Plan.Size, func(ctx context.Context, _ int) error {
		<-ctx.Done()
		return nil
	})
	bareHeap, bareStacks := memory()
	if err := bare.end(); err != nil {
		return nil, err
	}

	began := w.sent.Commands()
	all := startAll(ctx, w.env.Plan.Size, func(ctx context.Context, i int) error {
		if _, err := w.sessions[1+i%(len(w.sessions)-1)].Lock(ctx, name); err == nil {
			return errors.New("exclusion is violated: a waiter was granted what another holds")
		} else if ctx.Err() == nil {
			return err
		}
		return nil
	})
	defer func() { err = errors.Join(err, all.end()) }()
	if err := awaitQuiet(ctx, &w.sent, 300*time.Millisecond, 2*time.Second); err != nil {
		return nil, err
	}
	joining := w.sent.Commands() - began
	heap, stacks := memory()
	sent := w.sent.Commands()
	u, err := measure(ctx, w.env.Backend, func() error { return pause(ctx, d) })
	if err != nil {
		return nil, err
	}
	sent = w.sent.Commands() - sent
	n := float64(w.env.Plan.Size)
	rate := perSecond(int(sent), u.time)
	client, server := u.share()
	return Sample{
		{idleCommands, "/s", rate},
		{waiterCommands, "", 5 * rate / n},
		{"commands of the server meanwhile", "/s", u.commands / u.time.Seconds()},
		{"client: share of one core", "%", client},
		{"server: share of one core", "%", server},
		{waiterMemory, "B", (heap - bareHeap + stacks - bareStacks) / n},
		{"of it, stack", "B", (stacks - bareStacks) / n},
		{"commands until all wait", "", float64(joining)},
	}, nil
}
