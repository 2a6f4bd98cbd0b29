package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// Clients that share an engine exclude each other. Here two owners call the engine directly, as a client does.
func ExampleNew() {
	ctx := context.Background()
	engine := memory.New()
	order := driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: "order:1001"},
		Owner:  "secret-of-the-first",
		Size:   1,
		Weight: 1,
		TTL:    30 * time.Second,
		Tokens: 1,
	}
	grant, err := engine.Take(ctx, order)
	fmt.Println("first:", grant.Token, err)

	order.Owner = "secret-of-the-second"
	_, err = engine.Take(ctx, order)
	fmt.Println("second:", err)
	// Output:
	// first: 1 <nil>
	// second: held by another owner
}

// A test need not wait for a lease to expire.
func ExampleWithClock() {
	ctx := context.Background()
	clock := memory.NewManualClock(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
	engine := memory.New(memory.WithClock(clock))
	order := driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: "order:1001"},
		Owner:  "secret-of-one-that-crashed",
		Size:   1,
		Weight: 1,
		TTL:    30 * time.Second,
		Tokens: 1,
	}
	if _, err := engine.Take(ctx, order); err != nil {
		fmt.Println(err)
	}
	clock.Advance(30 * time.Second)

	order.Owner = "secret-of-the-next"
	grant, err := engine.Take(ctx, order)
	fmt.Println("next:", grant.Token, err)
	// Output: next: 2 <nil>
}

// The clock calls what falls due at its own time.
func ExampleManualClock() {
	clock := memory.NewManualClock(time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC))
	clock.AfterFunc(time.Minute, func() {
		fmt.Println("called at", clock.Now().Format(time.TimeOnly))
	})
	clock.Advance(time.Hour)
	fmt.Println("now it is", clock.Now().Format(time.TimeOnly))
	// Output:
	// called at 12:01:00
	// now it is 13:00:00
}
