package work

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
	"github.com/leasehold-go/leasehold/lab/bench/internal/contender"
)

// openSecond prepares a workload in which many goroutines of one process hand one name around while
// a second process asks for it from time to time.
func openSecond(e Env) (*Bench, error) {
	session, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, err
	}
	return &Bench{Close: session.Close,
		Round: func(ctx context.Context, label string, d time.Duration) (_ Sample, err error) {
			file := filepath.Join(e.Folder, "checker:"+label)
			j, err := checker.Open(file)
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, j.Close()) }()
			p := &localHandOver{session: session, name: e.Mark + "second:" + label, checker: j}
			began := time.Now()
			all := startWorkers(ctx, e.Plan.Size, p.turn)
			answer, err := ask(all.ctx,
				contender.Spec{Library: e.Library.Name, Addrs: e.Backend.Addrs(), Name: p.name, CheckFile: file}, d)
			turns, took := p.turns.Load(), time.Since(began)
			left, failed := all.stop(patience)
			if err := errors.Join(cmp.Or(failed, err), j.Err()); err != nil {
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

// ask lets a second process ask for the time d.
func ask(ctx context.Context, s contender.Spec, d time.Duration) (contender.Answer, error) {
	a, err := contender.Start(ctx, s)
	if err != nil {
		return contender.Answer{}, err
	}
	paused := pause(ctx, d)
	answer, err := a.Stop()
	return answer, errors.Join(paused, err)
}
