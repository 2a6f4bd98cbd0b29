package redis_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
)

// An engine on one server. Pass it to leasehold.New: its locks are shared with all who use the same server, database
// and prefix.
func ExampleNew() {
	rdb := goredis.NewClient(&goredis.Options{
		Addr:                  "localhost:6379",
		ContextTimeoutEnabled: true, // a request ends with its context
	})
	defer rdb.Close()

	engine, err := redis.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close() // before the client

	// client := leasehold.New(engine)
	fmt.Println(engine.Abilities().Name)
}

// If hundreds of goroutines lock at the same time in a Cluster, it is faster to send their commands together. On one
// server, the engine does so by itself. Closing rdb closes the AutoPipeliner, too.
func ExampleNew_manyGoroutines() {
	rdb := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"c1:6379", "c2:6379", "c3:6379"},
		ContextTimeoutEnabled: true})
	defer rdb.Close()
	together, err := rdb.AsyncAutoPipelineWithOptions(&goredis.AutoPipelineOptions{MaxBatchSize: 32,
		MaxConcurrentBatches: 8, Unordered: true})
	if err != nil {
		log.Fatal(err)
	}

	engine, err := redis.New(together)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
}

// Servers that Sentinels watch. The client follows a failover, and the guard ensures that no lease is granted twice.
func ExampleNew_sentinel() {
	rdb := goredis.NewFailoverClient(&goredis.FailoverOptions{
		MasterName:            "mymaster",
		SentinelAddrs:         []string{"s1:26379", "s2:26379", "s3:26379"},
		ContextTimeoutEnabled: true,
	})
	defer rdb.Close()

	// No lease may last longer than this, and after a failover none is granted for so long.
	engine, err := redis.New(rdb, redis.WithMaxTTL(30*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
}

// A Cluster. Names with the same text in braces, such as "{user:7}cart", are kept on the same server.
func ExampleNew_cluster() {
	rdb := goredis.NewClusterClient(&goredis.ClusterOptions{
		Addrs:                 []string{"c1:6379", "c2:6379", "c3:6379"},
		ContextTimeoutEnabled: true,
	})
	defer rdb.Close()

	engine, err := redis.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
}

// A URL names the servers, and has the options as parameters. The password comes from the environment.
func ExampleOpen() {
	engine, err := redis.Open("rediss+sentinel://s1,s2,s3/mymaster?max_ttl=30s&ca=/etc/ssl/redis.pem")
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close() // and the connections
}

// A server that was started for a test has no leases to protect. Without this option it would grant none in its first
// minute.
func ExampleWithoutFailoverGuard() {
	rdb := goredis.NewClient(&goredis.Options{Addr: "localhost:6379"})
	defer rdb.Close()

	engine, err := redis.New(rdb, redis.WithoutFailoverGuard())
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
}

// A lease counts only when two replicas have confirmed it within half a second.
func ExampleWithReplicas() {
	rdb := goredis.NewClient(&goredis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
	defer rdb.Close()

	engine, err := redis.New(rdb, redis.WithReplicas(2, 500*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
}

// A caller that does not wait is told until when no lease is granted. In a program, this is the error of TryLock.
func ExampleClosedError() {
	engine, err := redis.Open("redis://localhost")
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	_, err = engine.Take(context.Background(), driver.Request{
		Key:   driver.Key{Kind: driver.Lock, Name: "order:1001"},
		Owner: "a secret that nobody can guess", Size: 1, Weight: 1, TTL: 10 * time.Second,
	})
	if closed, ok := errors.AsType[*redis.ClosedError](err); ok {
		fmt.Println("after a failover: try again at", closed.Open.Format(time.TimeOnly))
	}
}
