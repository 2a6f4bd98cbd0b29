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

// suite runs the suite of all engines, with a client of its own for each engine, as other processes have.
func suite(t *testing.T, client newClient, opts ...redis.Option) {
	t.Helper()
	drivertest.Run(t, drivertest.Harness{
		Start: func(*testing.T) drivertest.Place { return place(client, opts...) },
		TTL:   time.Second,
	})
}

func place(client newClient, opts ...redis.Option) drivertest.Place {
	return drivertest.Place{Open: func(t *testing.T) driver.Engine { return open(t, client, opts...) }}
}

func TestContractOnOneServer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	t.Run("Plain", func(t *testing.T) {
		t.Parallel()
		suite(t, standalone(s), redis.WithoutFailoverGuard())
	})
	t.Run("AutoPipeline", func(t *testing.T) {
		t.Parallel()
		suite(t, pipelined(standalone(s)), redis.WithoutFailoverGuard())
	})
	t.Run("Polling", func(t *testing.T) {
		t.Parallel()
		suite(t, standalone(s), redis.WithoutFailoverGuard(), redis.WithPolling())
	})
	t.Run("Guarded", func(t *testing.T) {
		t.Parallel()
		trust(t, s)
		suite(t, standalone(s))
	})
}

// A server that is told to write down everything at once loses no lock when it crashes.
func TestContractOverCrashes(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Place {
			if !strings.HasSuffix(t.Name(), "/GrowOverCrash") { // the only one that crashes the server
				t.Skip("the server need not crash for this")
			}
			s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}})
			p := place(standalone(s), redis.WithoutFailoverGuard())
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

func TestContractOnAReplicatedServer(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	suite(t, standalone(r.Master), redis.WithoutFailoverGuard(), redis.WithReplicas(1, 5*time.Second))
}

func TestContractBehindSentinels(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 2, redisserver.Config{})
	suite(t, failover(redisserver.SentinelsForTest(t, 3, r)), redis.WithoutFailoverGuard())
}

func TestContractOnACluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 1, redisserver.Config{})
	t.Run("Plain", func(t *testing.T) {
		t.Parallel()
		suite(t, cluster(c), redis.WithoutFailoverGuard())
	})
	t.Run("AutoPipeline", func(t *testing.T) {
		t.Parallel()
		suite(t, pipelined(cluster(c)), redis.WithoutFailoverGuard())
	})
}
