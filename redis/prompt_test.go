package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// With an AutoPipeliner, every request ends with its context, whatever the server does: that is what Prompt says.
func TestPromptRequestsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, pipelined(standalone(s)))
	if !e.Abilities().Prompt {
		t.Fatal("the engine is not Prompt")
	}
	r, reader := lasting("a", time.Minute), shared(lasting("b", time.Minute))
	takes(t, e, r)
	takes(t, e, reader)
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	for name, request := range map[string]func(context.Context) error{
		"Take": func(ctx context.Context) error { _, err := e.Take(ctx, lasting("c", time.Minute)); return err },
		"Take of many": func(ctx context.Context) error {
			_, err := e.TakeAll(ctx, []driver.Request{lasting("d", time.Minute), lasting("e", time.Minute)})
			return err
		},
		"Renew":        func(ctx context.Context) error { return renews(ctx, e, hold(r), time.Minute) },
		"Renew shared": func(ctx context.Context) error { return renews(ctx, e, hold(reader), time.Minute) },
		"List":         func(ctx context.Context) error { _, err := e.List(ctx, driver.Query{}); return err },
		"List of one":  func(ctx context.Context) error { _, err := e.List(ctx, driver.Query{Name: "a"}); return err },
		"Downgrade":    func(ctx context.Context) error { return e.Downgrade(ctx, hold(r)) },
		"Release":      func(ctx context.Context) error { return e.Release(ctx, driver.Release{Hold: hold(r)}) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		began := time.Now()
		err := request(ctx)
		cancel()
		if took := time.Since(began); err == nil || took > soon {
			t.Errorf("%s of a server that stands still: %v after %v", name, err, took)
		}
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
}
