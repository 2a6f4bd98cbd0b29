package redis_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// Whatever the client does, a request ends with its context.
func TestRequestsToAStalledServerEnd(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(*redisserver.Server) newClient{
		"Defaults":          standalone,
		"ObservesDeadlines": func(s *redisserver.Server) newClient { return noRetries(s.Addr()) },
		"AutoPipeline":      func(s *redisserver.Server) newClient { return pipelined(standalone(s)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			runStalled(t, s, client(s))
		})
	}
}

func TestRequestsToAStalledMasterWithReplicasEnd(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	runStalled(t, r.Master, standalone(r.Master), redis.WithReplicas(1, 5*time.Second))
}

func runStalled(t *testing.T, s *redisserver.Server, client newClient, opts ...redis.Option) {
	t.Helper()
	drivertest.RunStalled(t,
		func(t *testing.T) driver.Engine {
			return unguarded(t, client, append(opts, longLeases)...)
		},
		func(t *testing.T) {
			if err := s.Pause(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Resume() })
		}, 0)
}
