package redisson_test

import (
	"context"
	"fmt"
	"log"

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
