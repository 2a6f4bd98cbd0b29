package work

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/asker"
	"github.com/leasehold-go/leasehold/bench/internal/judge"
)

// openSecond: many goroutines of one process pass one name around while a second process asks for it now and then.
func openSecond(e Env) (*Bench, error) {
	session, err := e.Library.Open(e.At())
	if err != nil {
		return nil, err
	}
	return &Bench{Close: session.Close, Round: func(ctx context.Context, label string, d time.Duration) (_ Sample, err error) {
		file := filepath.Join(e.Folder, "judge:"+label)
		j, err := judge.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, j.Close()) }()
		p := &passing{session: session, name: e.Mark + "second:" + label, judge: j}
		began := time.Now()
		all := muster(ctx, e.Plan.Size, p.turn)
		answer, err := ask(all.ctx, asker.Spec{Library: e.Library.Name, Addrs: e.Place.Addrs(), Name: p.name, Judge: file}, d)
		turns, took := p.turns.Load(), time.Since(began)
		left, failed := all.dismiss(patience)
		if err := errors.Join(cmp.Or(failed, err), j.Verdict()); err != nil {
			return nil, err
		}
		return Sample{
			{handOvers, "/s", perSecond(int(turns), took)},
			{toAnother, "%", p.toAnother()},
			{"turns of the second process", "", float64(answer.Turns)},
			{"wait p50 of the second process", "ms", answer.Median},
			{secondsLongest, "ms", answer.Max},
			{leftWaiting, "", float64(left)},
		}, nil
	}}, nil
}

// ask lets a second process ask for so long.
func ask(ctx context.Context, s asker.Spec, d time.Duration) (asker.Answer, error) {
	a, err := asker.Start(ctx, s)
	if err != nil {
		return asker.Answer{}, err
	}
	paused := pause(ctx, d)
	answer, err := a.Stop()
	return answer, errors.Join(paused, err)
}
