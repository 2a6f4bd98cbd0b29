package redis_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// pipeliner is a client that can be made an AutoPipeliner.
type pipeliner interface {
	goredis.UniversalClient
	AutoPipeline() (*goredis.AutoPipeliner, error)
	AsyncAutoPipelineWithOptions(*goredis.AutoPipelineOptions) (*goredis.AutoPipeliner, error)
}

// BenchmarkAutoPipeline takes and releases free names, each goroutine one of its own, with a plain client and with
// AutoPipeliners: that of AutoPipeline, and the one of ExampleNew_manyGoroutines. On one server the engine sends
// requests together by itself.
func BenchmarkAutoPipeline(b *testing.B) {
	server := redisserver.ForTest(b, redisserver.Config{})
	three := redisserver.ClusterForTest(b, 3, 0, redisserver.Config{})
	for _, where := range []struct {
		name string
		make func() pipeliner
	}{
		{"server", func() pipeliner { return goredis.NewClient(&goredis.Options{Addr: server.Addr()}) }},
		{"cluster", func() pipeliner {
			return goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: three.Addrs()})
		}},
	} {
		for _, how := range []struct {
			name string
			wrap func(pipeliner) (goredis.UniversalClient, error)
		}{
			{"plain", func(c pipeliner) (goredis.UniversalClient, error) { return c, nil }},
			{"blocking", func(c pipeliner) (goredis.UniversalClient, error) { return c.AutoPipeline() }},
			{"deferred", func(c pipeliner) (goredis.UniversalClient, error) {
				return c.AsyncAutoPipelineWithOptions(&goredis.AutoPipelineOptions{MaxBatchSize: 32,
					MaxConcurrentBatches: 8, Unordered: true})
			}},
		} {
			for _, goroutines := range []int{1, 16, 256} {
				b.Run(fmt.Sprintf("%s/%s/%d", where.name, how.name, goroutines), func(b *testing.B) {
					c := where.make()
					defer c.Close()
					client, err := how.wrap(c)
					if err != nil {
						b.Fatal(err)
					}
					e, err := redis.New(client, redis.WithoutFailoverGuard())
					if err != nil {
						b.Fatal(err)
					}
					defer e.Close()
					takeAndRelease(b, e, goroutines)
				})
			}
		}
	}
}

// takeAndRelease takes and releases names in many goroutines.
func takeAndRelease(b *testing.B, e *redis.Engine, goroutines int) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var running sync.WaitGroup
	b.ResetTimer()
	for i := range goroutines {
		running.Go(func() {
			name := fmt.Sprint("name-", i)
			for left.Add(-1) >= 0 {
				r := lock(name)
				_, err := e.Take(b.Context(), r)
				if err == nil {
					err = e.Release(b.Context(), driver.Release{Hold: hold(r)})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}
