package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// A lock on three independent servers, of which one may fail.
func ExampleNew() {
	ctx := context.Background()
	var servers []goredis.UniversalClient
	for _, address := range []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"} {
		rdb := goredis.NewClient(&goredis.Options{Addr: address, ContextTimeoutEnabled: true})
		defer rdb.Close()
		servers = append(servers, rdb)
	}
	engine, err := redlock.New(ctx, servers)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close() // before the clients

	client := leasehold.New(engine)
	defer client.Close()
	lease, err := client.Mutex("order:1001").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release()
}

// Why a lock could not be had, and what each server says of it now.
func ExampleError() {
	ctx := context.Background()
	engine, err := redlock.Open(ctx, "redlock://10.0.0.1,10.0.0.2,10.0.0.3")
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	client := leasehold.New(engine)
	defer client.Close()

	_, err = client.Mutex("order:1001").TryLock(ctx)
	if failed, ok := errors.AsType[*redlock.Error](err); ok {
		for _, v := range failed.Votes {
			fmt.Println(v.Node, v.Answer)
		}
	}
	votes, err := admin.New(engine).Votes(ctx, driver.Lock, "order:1001")
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range votes {
		fmt.Println(v.Node, v.Holders, v.Closed, v.Err)
	}
}
