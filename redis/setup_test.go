package redis_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// newClient makes a client for a test, which closes it.
type newClient func(t *testing.T) goredis.UniversalClient

func closed[C goredis.UniversalClient](t *testing.T, c C) goredis.UniversalClient {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return c
}

func standalone(s *redisserver.Server) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: s.Addr(), ReadTimeout: patience}))
	}
}

func failover(s *redisserver.Sentinels) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: redisserver.MasterName,
			SentinelAddrs: s.Addrs()}))
	}
}

func cluster(c *redisserver.Cluster) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs()}))
	}
}

// hasty makes a client that neither retries nor waits for longer than a request's context allows, as Open does.
func hasty(c *redisserver.Cluster) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs(), MaxRetries: -1,
			MaxRedirects: 1, DialerRetries: 1, ContextTimeoutEnabled: true}))
	}
}

// pipelined makes a client that sends the commands of many goroutines together.
func pipelined(client newClient) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		pipeliner, err := client(t).(interface {
			AutoPipeline() (*goredis.AutoPipeliner, error)
		}).AutoPipeline()
		if err != nil {
			t.Fatal(err)
		}
		return pipeliner
	}
}

// open opens an engine for a test, which closes it.
func open(t *testing.T, client newClient, opts ...redis.Option) *redis.Engine {
	t.Helper()
	e, err := redis.New(client(t), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return e
}

// trust makes engines grant leases at once on a server that was started for the test.
func trust(t *testing.T, s *redisserver.Server) {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	defer c.Close()
	if err := redis.Trust(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}
