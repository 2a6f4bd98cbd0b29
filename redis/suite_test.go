package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// suite runs the conformance suite, with a client of its own for each engine, as other processes have.
func suite(t *testing.T, client newClient, opts ...redis.Option) {
	t.Helper()
	drivertest.Run(t, drivertest.Harness{
		Start: func(*testing.T) drivertest.Environment { return environment(client, opts...) },
		TTL:   time.Second,
	})
}

// longLeases lets the suite have leases that do not end while it examines them, however busy the machine is.
var longLeases = redis.WithMaxTTL(10 * time.Minute)

func environment(client newClient, opts ...redis.Option) drivertest.Environment {
	opts = append(opts, longLeases)
	return drivertest.Environment{Open: func(t *testing.T) driver.Engine { return open(t, client, opts...) }}
}

// The suite runs on one server here, and on a Cluster with the most different client below. More set-ups are in
// suite_long_test.go.
func TestContractOnOneServer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	trust(t, s)
	suite(t, standalone(s))
}

// TestContractOnOtherSetUps has one with replicas.
func TestContractOnACluster(t *testing.T) {
	t.Parallel()
	suite(t, pipelined(cluster(redisserver.ClusterForTest(t, 3, 0, redisserver.Config{}))),
		redis.WithoutFailoverGuard())
}

// A server that writes everything to disk at once loses no lock when it crashes.
func TestContractOverCrashes(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Environment {
			if !strings.HasSuffix(t.Name(), "Crash") { // only these crash the server
				t.Skip("the server need not crash for this")
			}
			s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}})
			p := environment(standalone(s), redis.WithoutFailoverGuard())
			p.Restart = func(t *testing.T) {
				s.Kill()
				if err := s.Restart(); err != nil {
					t.Fatal(err)
				}
			}
			return p
		},
		TTL: time.Second,
	})
}
