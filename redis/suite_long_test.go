//go:build long

package redis_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// The conformance suite on every other set-up: it takes long, and seldom finds what it does not find on one server and
// on a Cluster.
func TestContractOnOtherSetUps(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, run := range map[string]func(*testing.T){
		"Plain":        func(t *testing.T) { suite(t, standalone(s), redis.WithoutFailoverGuard()) },
		"AutoPipeline": func(t *testing.T) { suite(t, pipelined(standalone(s)), redis.WithoutFailoverGuard()) },
		"Polling": func(t *testing.T) {
			suite(t, standalone(s), redis.WithoutFailoverGuard(), redis.WithPolling())
		},
		"Started": func(t *testing.T) { startedSuite(t, pipelined(standalone(s))) },
		"Cluster": func(t *testing.T) {
			suite(t, cluster(redisserver.ClusterForTest(t, 3, 1, redisserver.Config{})), redis.WithoutFailoverGuard())
		},
		"Replicated": func(t *testing.T) {
			r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
			suite(t, standalone(r.Master), redis.WithoutFailoverGuard(), redis.WithReplicas(1, 5*time.Second))
		},
		"Sentinels": func(t *testing.T) {
			r := redisserver.ReplicatedForTest(t, 2, redisserver.Config{})
			suite(t, failover(redisserver.SentinelsForTest(t, 3, r)), redis.WithoutFailoverGuard())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t)
		})
	}
}
