package objects_test

import (
	"context"
	"fmt"
	"log"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

func Example() {
	server, err := redisserver.Start(redisserver.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	rdb := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	defer rdb.Close()

	r, err := objects.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	lock := r.Lock("orders") // redisson.getLock("orders") in Java
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	ok, err := r.Lock("orders").TryLock(ctx) // another thread
	fmt.Println("a second holder:", ok, err)
	if err := lock.Unlock(); err != nil {
		log.Fatal(err)
	}
	// Output: a second holder: false <nil>
}
