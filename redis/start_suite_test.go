package redis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// started is an engine that is asked without a goroutine that waits for the answer. It gives up as its callers do, and what it
// has given up goes on.
type started struct {
	*redis.Engine
	under *sync.WaitGroup
}

// through starts a request, and waits for what it is done with.
func through[T any](ctx context.Context, s started, start func(ctx context.Context, done func(T, error))) (T, error) {
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
	s.under.Add(1)
	start(inner, func(value T, err error) {
		cancel()
		answers <- answer{value, err}
		s.under.Done() // panics if it is called twice
	})
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (s started) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return through(ctx, s, func(ctx context.Context, done func(driver.Grant, error)) { s.StartTake(ctx, r, done) })
}

func (s started) Release(ctx context.Context, r driver.Release) error {
	_, err := through(ctx, s, func(ctx context.Context, done func(struct{}, error)) {
		s.StartRelease(ctx, r, func(err error) { done(struct{}{}, err) })
	})
	return err
}

// An engine that is asked in this way keeps all of the contract.
func TestContractOfStartedRequests(t *testing.T) {
	t.Parallel()
	startedSuite(t, standalone(redisserver.ForTest(t, redisserver.Config{})))
}

func startedSuite(t *testing.T, client newClient) {
	t.Helper()
	drivertest.Run(t, drivertest.Harness{
		Start: func(*testing.T) drivertest.Place {
			return drivertest.Place{Open: func(t *testing.T) driver.Engine {
				e := started{unguarded(t, client, longLeases), new(sync.WaitGroup)}
				t.Cleanup(e.under.Wait)
				return e
			}}
		},
		TTL: time.Second,
	})
}
