package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
)

// lock asks for a lock by a new owner. The ttl is the shortest for which the guard can close a server.
func lock(name string) driver.Request {
	return driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: name},
		Owner:  rand.Text(),
		Size:   1,
		Weight: 1,
		TTL:    time.Second,
		Tokens: 1,
		Holder: "test",
	}
}

// lasting asks for a lock with this ttl.
func lasting(name string, ttl time.Duration) driver.Request {
	r := lock(name)
	r.TTL = ttl
	return r
}

func hold(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

// acquire takes, or waits for its turn, as the core does.
func acquire(ctx context.Context, t *testing.T, e *redis.Engine, r driver.Request) driver.Grant {
	t.Helper()
	r.Join = true
	g, err := e.Take(ctx, r)
	if errors.Is(err, driver.ErrHeld) {
		g, err = e.Wait(ctx, r)
	}
	if err != nil {
		t.Fatalf("waiting for %q: %v", r.Name, err)
	}
	return g
}

func release(t *testing.T, e *redis.Engine, r driver.Request) {
	t.Helper()
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
		t.Fatalf("Release of %q: %v", r.Name, err)
	}
}
