package redisson_test

import (
	"context"
	"fmt"
	"log"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// A lock of the library that programs in Java know as getFairLock("orders").
func ExampleNew() {
	server, err := redisserver.Start(redisserver.Config{}) // a program has a server already
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	rdb := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	defer rdb.Close()

	engine, err := redisson.New(rdb, redisson.WithLock(redisson.Fair))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	client := leasehold.New(engine)
	defer client.Close()

	lease, err := client.Mutex("orders").Lock(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(engine.LockType(), "lock with token", lease.Token())
	if err := lease.Release(); err != nil {
		log.Fatal(err)
	}
	// Output: fair lock with token 1
}

// The same by a URL, as the command takes it.
func ExampleOpen() {
	server, err := redisserver.Start(redisserver.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	engine, err := redisson.Open("redisson://" + server.Addr() + "?lock=plain&prefix=app:")
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	fmt.Println(engine.LockType())
	// Output: plain
}

// Permits that anybody may take and add: an RSemaphore.
func ExampleEngine_Semaphore() {
	server, err := redisserver.Start(redisserver.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	engine, err := redisson.Open("redisson://" + server.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	ctx := context.Background()
	s := engine.Semaphore("downloads")
	if _, err := s.TrySetPermits(ctx, 3); err != nil {
		log.Fatal(err)
	}
	ok, err := s.TryAcquire(ctx, 4)
	fmt.Println("four of three:", ok, err)
	if err := s.Acquire(ctx, 2); err != nil { // waits until there are two
		log.Fatal(err)
	}
	left, err := s.AvailablePermits(ctx)
	fmt.Println("left:", left, err)
	// Output:
	// four of three: false <nil>
	// left: 1 <nil>
}

// A lease counts if both replicas of a master have confirmed it within half a second.
func ExampleWithReplicas() {
	rdb := goredis.NewFailoverClient(&goredis.FailoverOptions{
		MasterName: "main", SentinelAddrs: []string{"localhost:26379"},
	})
	defer rdb.Close()
	engine, err := redisson.New(rdb, redisson.WithLock(redisson.Plain), redisson.WithReplicas(2, 500*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	client := leasehold.New(engine, leasehold.WithDefaults(leasehold.TTL(10*time.Second)))
	defer client.Close()
}
