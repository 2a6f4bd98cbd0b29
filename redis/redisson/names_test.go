package redisson_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// A name that cannot be used is an ErrInvalid of the library, which tells why.
func TestNamesThatAreRefused(t *testing.T) {
	t.Parallel()
	e := open(t, standalone(redisserver.ForTest(t, redisserver.Config{})))
	c := leasehold.New(e)
	defer c.Close()
	for call, f := range map[string]func(ctx context.Context, name string) error{
		"Lock":    func(ctx context.Context, n string) error { _, err := c.Mutex(n).Lock(ctx); return err },
		"TryLock": func(ctx context.Context, n string) error { _, err := c.Mutex(n).TryLock(ctx); return err },
		"Acquire": func(ctx context.Context, n string) error {
			_, err := c.Semaphore(n, 2).Acquire(ctx, 1)
			return err
		},
		"LockAll": func(ctx context.Context, n string) error { _, err := c.LockAll(ctx, "x", n); return err },
		"Count":   func(ctx context.Context, n string) error { _, err := c.Latch(n).Count(ctx); return err },
		"Wait":    func(ctx context.Context, n string) error { return c.Latch(n).Wait(ctx) },
	} {
		err := f(t.Context(), "{a}")
		refused, ok := errors.AsType[*redisson.NameError](err)
		if !errors.Is(err, leasehold.ErrInvalid) || !ok || refused.Name != "{a}" {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// In a Cluster, names whose keys Redisson puts into two slots are refused for every object, and nothing is written.
func TestNamesOfTwoSlotsAreRefused(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	for kind, lock := range lockTypes {
		e := open(t, cluster(c), redisson.WithLock(lock))
		for _, name := range []string{"a}b", "a{}b", "a{b"} {
			_, take := e.Take(t.Context(), request("owner", name, driver.Exclusive))
			_, number := e.Semaphore(name).TrySetPermits(t.Context(), 1)
			all := map[string]error{"Take": take, "Semaphore": number}
			if lock != redisson.Fair { // which has no permits
				_, all["permits"] = e.Take(t.Context(), permits(name, 1, 1))
			}
			for object, err := range all {
				refused, ok := errors.AsType[*redisson.NameError](err)
				says := ok && refused.Name == name && strings.Contains(err.Error(), "two slots")
				if !says || !driver.HadNoEffect(err) {
					t.Errorf("%s, %s of %q: %v, want that the name is refused", kind, object, name, err)
				}
			}
		}
	}
	for _, n := range c.Nodes {
		if keys := command(t, n, "KEYS", "*").([]any); len(keys) > 0 {
			t.Errorf("it has written %q", keys)
		}
	}
}
