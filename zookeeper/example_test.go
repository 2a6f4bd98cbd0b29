package zookeeper_test

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// Pass an engine to leasehold.New: its locks are then shared with all programs that use the same ensemble and prefix.
// Here it is used directly, as other engines and tools do.
func ExampleOpen() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// The user and the password, if any, come from LEASEHOLD_ZOOKEEPER_USER and LEASEHOLD_ZOOKEEPER_PASSWORD.
	engine, err := zookeeper.Open(ctx, "zookeeper://zk1,zk2,zk3/teams/billing?session_timeout=20s")
	if err != nil {
		fmt.Println("no locks:", err)
		return
	}
	defer engine.Close()

	grant, err := engine.Take(ctx, driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: "nightly-backup"},
		Owner:  "a secret that nobody can guess",
		Size:   1,
		Weight: 1,
		TTL:    engine.Abilities().MaxTTL, // two fifths of the session's timeout
		Tokens: 1,
	})
	fmt.Println("token", grant.Token, err)
}
