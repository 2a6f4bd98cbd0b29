package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// More numbers of servers are in suite_long_test.go.
func TestContract(t *testing.T) {
	t.Parallel()
	suite(t, 5)
}

// suite runs the contract suite on n servers.
func suite(t *testing.T, n int) {
	t.Helper()
	at := addresses(servers(t, n))
	drivertest.Run(t, drivertest.Harness{
		Start: func(*testing.T) drivertest.Environment {
			return drivertest.Environment{Open: func(t *testing.T) driver.Engine {
				return settledEngine{open(t, at, maxNodeTimeout, redlock.WithNodes(redis.WithMaxTTL(10*time.Minute)))}
			}}
		},
		TTL:      time.Second,
		Patience: 30 * time.Second, // each request is one to each server, which takes long on a busy machine
	})
}

// settledEngine is an engine that answers when all servers have. The suite checks at once what a request has
// done, and another owner might meanwhile be granted the name by a slow server.
type settledEngine struct{ *redlock.Engine }

func (s settledEngine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Engine.Take(ctx, r)
	for !s.Idle() {
		time.Sleep(time.Millisecond)
	}
	return g, err
}

// Wait also waits until all servers have answered. The suite releases through one engine what was granted to
// another, and the first knows nothing of the other's requests in flight.
func (s settledEngine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Engine.Wait(ctx, r)
	for err == nil && !s.Idle() {
		time.Sleep(time.Millisecond)
	}
	return g, err
}
