package objects_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// Whatever anybody publishes where waiters listen, they get nothing by it, and wait on for the unlock.
func TestMessagesThatSayNothing(t *testing.T) {
	t.Parallel()
	ofLock := func(lock func(*objects.Client, string) *objects.Lock) func(a, b *objects.Client) waiting {
		return func(a, b *objects.Client) waiting {
			held, wanted := lock(a, "a"), lock(b, "a")
			return waiting{
				hold: func(ctx context.Context) error { return held.Lock(ctx) },
				wait: func(ctx context.Context) error { return wanted.Lock(ctx) },
				free: func(context.Context) error { return held.Unlock() },
			}
		}
	}
	for name, start := range map[string]func(a, b *objects.Client) waiting{
		"Lock":       ofLock((*objects.Client).Lock),
		"FencedLock": ofLock((*objects.Client).FencedLock),
		"FairLock":   ofLock((*objects.Client).FairLock),
		"WriteLock":  ofLock(func(c *objects.Client, n string) *objects.Lock { return c.ReadWriteLock(n).WriteLock() }),
		"Semaphore": func(a, b *objects.Client) waiting {
			return waiting{
				hold: func(ctx context.Context) error { return only(a.Semaphore("a").TrySetPermits(ctx, 0)) },
				wait: func(ctx context.Context) error { return b.Semaphore("a").Acquire(ctx, 1) },
				free: func(ctx context.Context) error { return a.Semaphore("a").Release(ctx, 1) },
			}
		},
		"PermitExpirableSemaphore": func(a, b *objects.Client) waiting {
			var held *leasehold.Lease
			return waiting{
				hold: func(ctx context.Context) (err error) {
					held, err = a.PermitExpirableSemaphore("a", 1).Acquire(ctx, 1)
					return err
				},
				wait: func(ctx context.Context) error {
					return only(b.PermitExpirableSemaphore("a", 1).Acquire(ctx, 1))
				},
				free: func(context.Context) error { return held.Release() },
			}
		},
		"CountDownLatch": func(a, b *objects.Client) waiting {
			return waiting{
				hold: func(ctx context.Context) error { return only(a.CountDownLatch("a").TrySetCount(ctx, 1)) },
				wait: func(ctx context.Context) error { return b.CountDownLatch("a").Await(ctx) },
				free: func(ctx context.Context) error { return only(a.CountDownLatch("a").CountDown(ctx)) },
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			w := start(newClient(t, s), newClient(t, s))
			must(t, w.hold(t.Context()))
			ended := make(chan error, 1)
			go func() { ended <- w.wait(t.Context()) }()
			var channels []any
			for ; len(channels) == 0; must(t, t.Context().Err()) { // until it listens
				answer, err := s.Command("PUBSUB", "CHANNELS", "*")
				must(t, err)
				channels = answer.([]any)
			}
			for _, payload := range []string{
				"", "no number", "-1", "1e99", "\x00\xff", strings.Repeat("9", 1000), "0", "1", "2",
			} {
				for _, channel := range channels {
					heard, err := s.Command("PUBLISH", channel.(string), payload)
					if must(t, err); heard == int64(0) {
						t.Errorf("nobody listens at %s", channel)
					}
				}
				select {
				case err := <-ended:
					t.Fatalf("it has ended after the message %q: %v", payload, err)
				case <-time.After(20 * time.Millisecond):
				}
			}
			must(t, w.free(t.Context()))
			select {
			case err := <-ended:
				must(t, err)
			case <-time.After(9 * time.Second): // it would ask after ten
				t.Error("the waiter was not notified")
			}
		})
	}
}

// waiting are calls of two clients: one holds what the other waits for, and frees it.
type waiting struct{ hold, wait, free func(context.Context) error }
