package redisson_test

import (
	"context"
	"errors"
	"testing"

	"github.com/leasehold-go/leasehold"
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
