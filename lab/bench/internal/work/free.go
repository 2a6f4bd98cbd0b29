package work

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// openFree prepares a workload in which one goroutine, with a context that cannot be cancelled,
// locks and releases one name that nobody else wants.
func openFree(e Env) (*Bench, error) { return openAlone(e, context.WithoutCancel) }

// openFreeEnding is openFree with a context that can be cancelled. A library that supports
// cancellation must be able to abandon a request.
func openFreeEnding(e Env) (*Bench, error) {
	return openAlone(e, func(ctx context.Context) context.Context { return ctx })
}

func openAlone(e Env, derive func(context.Context) context.Context) (*Bench, error) {
	session, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, err
	}
	name := e.Mark + "free"
	if java, ok := session.(lib.Turner); ok {
		round := func(ctx context.Context, _ string, d time.Duration) (Sample, error) {
			return roundOf(ctx, e, java, name, d)
		}
		return &Bench{Close: session.Close, Round: round}, nil
	}
	return &Bench{Close: session.Close, Round: func(ctx context.Context, _ string, d time.Duration) (Sample, error) {
		ctx = derive(ctx)
		var took []time.Duration
		u, err := measure(ctx, e.Backend, func() error {
			var token uint64
			for began, last := time.Now(), time.Now(); last.Sub(began) < d; {
				if err := pair(ctx, session, name, &token); err != nil {
					return err
				}
				now := time.Now()
				took = append(took, now.Sub(last))
				last = now
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return sampleOf(u, took), nil
	}}, nil
}

// roundOf is a round of pairs in another process, which measures their time.
func roundOf(ctx context.Context, e Env, s lib.Turner, name string, d time.Duration) (Sample, error) {
	var turns []javaside.Turn
	u, err := measureClient(ctx, e.Backend, s.ProcessorTime, func() (err error) {
		turns, _, err = s.Turns(ctx, name, lib.Turns{For: d})
		return err
	})
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	u.time = 0
	for _, t := range turns {
		took = append(took, t.Took)
		u.time += t.Took
	}
	return sampleOf(u, took), nil
}

// sampleOf returns the figures of pairs that one client has made one after another.
func sampleOf(u usage, took []time.Duration) Sample {
	client, server := u.each(len(took))
	return Sample{
		{pairs, "/s", perSecond(len(took), u.time)},
		{pairP50, "µs", float64(stat.Percentile(took, 0.50)) / microsecond},
		{"p99", "µs", float64(stat.Percentile(took, 0.99)) / microsecond},
		{clientTime, "µs", client},
		{serverTime, "µs", server},
	}
}

// pair locks and releases a name that nobody else wants. Its tokens must grow.
func pair(ctx context.Context, s lib.Session, name string, token *uint64) error {
	held, err := s.Lock(ctx, name)
	if err != nil {
		return err
	}
	if held.Token != 0 && held.Token <= *token {
		return fmt.Errorf("order is violated: token %d came after %d", held.Token, *token)
	}
	*token = held.Token
	return held.Release()
}
