package postgres_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// Pass the engine to leasehold.New to share locks with all processes that open the same database. Here it is used
// directly, as other engines and tools do.
func ExampleOpen() {
	ctx := context.Background()
	engine, err := postgres.Open(ctx, "postgres://app@localhost/app?max_ttl=90s")
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	grant, err := engine.Take(ctx, driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: "nightly-backup"},
		Owner:  "a secret that nobody can guess",
		Size:   1,
		Weight: 1,
		TTL:    30 * time.Second,
		Tokens: 1,
	})
	fmt.Println("token", grant.Token, err)
}

// A program shares its pool with the engine, and makes the tables when it wants.
func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app@localhost/app")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	if err := postgres.Migrate(ctx, pool, "locks"); err != nil {
		log.Fatal(err)
	}
	engine, err := postgres.New(pool, postgres.WithSchema("locks"))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
}
