package work

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/asker"
	"github.com/leasehold-go/leasehold/bench/internal/judge"
	"github.com/leasehold-go/leasehold/bench/internal/lib"
)

// openProcess: many goroutines of one process pass one name around, first alone, and then while a second process asks
// for it now and then.
func openProcess(e Env) (*Bench, error) {
	session, err := e.Library.Open(e.At())
	if err != nil {
		return nil, err
	}
	p := &process{env: e, session: session}
	return &Bench{Round: p.round, Close: session.Close}, nil
}

type process struct {
	env     Env
	session lib.Session
}

func (p *process) round(ctx context.Context, label string, d time.Duration) (_ Sample, err error) {
	file := filepath.Join(p.env.Folder, "judge:"+label)
	j, err := judge.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	name := p.env.Mark + "process:" + label

	alone, err := p.pass(ctx, name, j, func(ctx context.Context) error { return pause(ctx, d) })
	if err != nil {
		return nil, err
	}
	var answer asker.Answer
	shared, err := p.pass(ctx, name, j, func(ctx context.Context) error {
		a, err := asker.Start(ctx, asker.Spec{Library: p.env.Library.Name, Addrs: p.env.Place.Addrs(), Name: name, Judge: file})
		if err != nil {
			return err
		}
		err = pause(ctx, d)
		var failed error
		answer, failed = a.Stop()
		return errors.Join(err, failed)
	})
	if err != nil {
		return nil, err
	}
	return Sample{
		{handOvers, "/s", alone.turns},
		{toAnother, "%", alone.others},
		{"hand-overs beside a second process", "/s", shared.turns},
		{"turns of the second process", "", float64(answer.Turns)},
		{"wait p50 of the second process", "ms", answer.Median},
		{secondsLongest, "ms", answer.Max},
		{leftWaiting, "", float64(alone.left + shared.left)},
	}, nil
}

// passing is how a name went around.
type passing struct {
	turns  float64 // per second
	others float64 // percent that did not go to the same goroutine again
	left   int     // who were never woken
}

// pass passes the name around for as long as during runs.
func (p *process) pass(ctx context.Context, name string, j *judge.Judge, during func(context.Context) error) (passing, error) {
	var turns, others atomic.Int64
	began := time.Now()
	all := muster(ctx, p.env.Plan.Size, func(ctx context.Context, i int) error {
		held, err := p.session.Lock(ctx, name)
		if err != nil {
			return err
		}
		who := uint64(i + 1)
		turns.Add(1)
		if j.Enter(who, held.Token).HandOver {
			others.Add(1)
		}
		j.Leave(who)
		return held.Release()
	})
	err := during(all.ctx)
	n, took := turns.Load(), time.Since(began)
	r := passing{turns: perSecond(int(n), took), others: 100 * float64(others.Load()) / float64(n)}
	var failed error
	r.left, failed = all.dismiss()
	return r, errors.Join(err, failed, j.Verdict())
}
