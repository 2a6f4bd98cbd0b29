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

// suite runs the suite of all engines on so many servers.
func suite(t *testing.T, n int) {
	t.Helper()
	at := addresses(servers(t, n))
	drivertest.Run(t, drivertest.Harness{
		Start: func(*testing.T) drivertest.Place {
			return drivertest.Place{Open: func(t *testing.T) driver.Engine {
				return settled{open(t, at, unhurried, redlock.WithNodes(redis.WithMaxTTL(10*time.Minute)))}
			}}
		},
		TTL:      time.Second,
		Patience: 30 * time.Second, // each request is many, which a busy machine takes long for under stress
	})
}

// settled is an engine that answers when all servers have. The suite looks at once at what a request has done, and who else comes then may
// be granted a server that is slow.
type settled struct{ *redlock.Engine }

func (s settled) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Engine.Take(ctx, r)
	for !s.Idle() {
		time.Sleep(time.Millisecond)
	}
	return g, err
}

// Wait does so, too: the suite releases what was granted to one engine through another one, which does not know what is still under way.
func (s settled) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Engine.Wait(ctx, r)
	for err == nil && !s.Idle() {
		time.Sleep(time.Millisecond)
	}
	return g, err
}
