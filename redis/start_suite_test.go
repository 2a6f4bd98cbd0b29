package redis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// startedEngine is an engine with requests that need no goroutine that waits for the answer. It gives up as its callers
// do, and what it has given up goes on.
type startedEngine struct {
	*redis.Engine
	inFlight *sync.WaitGroup
}

// awaitStarted starts a request, and waits for its answer.
func awaitStarted[T any](
	ctx context.Context, e startedEngine, start func(ctx context.Context, done func(T, error)),
) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, driver.NoEffect(err)
	}
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	if end, ok := ctx.Deadline(); ok {
		inner, cancel = context.WithDeadline(context.WithoutCancel(ctx), end)
	}
	answers := make(chan answer, 2)
	e.inFlight.Add(1)
	start(inner, func(value T, err error) {
		cancel()
		answers <- answer{value, err}
		e.inFlight.Done() // panics if it is called twice
	})
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// Abilities says that a started take cannot be recalled.
func (e startedEngine) Abilities() driver.Abilities {
	can := e.Engine.Abilities()
	can.Recalls = false
	return can
}

func (e startedEngine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return e.TakeFrom(ctx, quorumnode.Request{Request: r})
}

func (e startedEngine) TakeFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	return awaitStarted(ctx, e, func(ctx context.Context, done func(driver.Grant, error)) { e.StartTake(ctx, r, done) })
}

func (e startedEngine) Release(ctx context.Context, r driver.Release) error {
	_, err := awaitStarted(ctx, e, func(ctx context.Context, done func(struct{}, error)) {
		e.StartRelease(ctx, r, func(err error) { done(struct{}{}, err) })
	})
	return err
}

// Started requests keep the whole contract.
func TestContractOfStartedRequests(t *testing.T) {
	t.Parallel()
	startedSuite(t, standalone(redisserver.ForTest(t, redisserver.Config{})))
}

func startedSuite(t *testing.T, client newClient) {
	t.Helper()
	drivertest.Run(t, drivertest.Harness{
		Start: func(*testing.T) drivertest.Environment {
			return drivertest.Environment{Open: func(t *testing.T) driver.Engine {
				e := startedEngine{unguarded(t, client, longLeases), new(sync.WaitGroup)}
				t.Cleanup(e.inFlight.Wait)
				return e
			}}
		},
		TTL: time.Second,
	})
}
