package objects_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// only returns the error of a call.
func only[T any](_ T, err error) error { return err }

// What another program keeps at the key of an object is an error for each call that would take it, which says what to
// do, and stays as it is.
func TestKeysOfAnotherType(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, s)
	tryLock := func(get func(name string) *objects.Lock) func(ctx context.Context, name string) error {
		return func(ctx context.Context, n string) error { return only(get(n).TryLock(ctx)) }
	}
	several := func(newLock func(...*objects.Lock) (*objects.MultiLock, error)) func(context.Context, string) error {
		return func(ctx context.Context, name string) error {
			return only(multi(t, newLock, c.Lock(name), c.Lock(name+" 2")).TryLock(ctx))
		}
	}
	calls := map[string]func(ctx context.Context, n string) error{
		"Lock": tryLock(c.Lock), "FencedLock": tryLock(c.FencedLock), "SpinLock": tryLock(c.SpinLock),
		"FairLock":      tryLock(c.FairLock),
		"WriteLock":     tryLock(func(n string) *objects.Lock { return c.ReadWriteLock(n).WriteLock() }),
		"ReadLock":      tryLock(func(n string) *objects.Lock { return c.ReadWriteLock(n).ReadLock() }),
		"Lock, waiting": func(ctx context.Context, n string) error { return c.Lock(n).Lock(ctx) },
		"NewMultiLock":  several(objects.NewMultiLock),
		"NewRedLock":    several(objects.NewRedLock),
		"TryAcquire":    func(ctx context.Context, n string) error { return only(c.Semaphore(n).TryAcquire(ctx, 1)) },
		"Acquire":       func(ctx context.Context, n string) error { return c.Semaphore(n).Acquire(ctx, 1) },
		"Release":       func(ctx context.Context, n string) error { return c.Semaphore(n).Release(ctx, 1) },
		"DrainPermits":  func(ctx context.Context, n string) error { return only(c.Semaphore(n).DrainPermits(ctx)) },
		"Available": func(ctx context.Context, n string) error {
			return only(c.Semaphore(n).AvailablePermits(ctx))
		},
		"Acquire, lease": func(ctx context.Context, n string) error {
			return only(c.PermitExpirableSemaphore(n, 2).Acquire(ctx, 1))
		},
		"TrySetCount": func(ctx context.Context, n string) error {
			return only(c.CountDownLatch(n).TrySetCount(ctx, 2))
		},
		"CountDown": func(ctx context.Context, n string) error { return only(c.CountDownLatch(n).CountDown(ctx)) },
		"Count":     func(ctx context.Context, n string) error { return only(c.CountDownLatch(n).Count(ctx)) },
		"Await":     func(ctx context.Context, n string) error { return c.CountDownLatch(n).Await(ctx) },
		"Delete":    func(ctx context.Context, n string) error { return only(c.CountDownLatch(n).Delete(ctx)) },
	}
	contents := map[string][]string{
		"text": {"SET", "text", "many"}, "fraction": {"SET", "fraction", "3.5"}, "list": {"RPUSH", "list", "a"},
		"set": {"SADD", "set", "a"}, "scores": {"ZADD", "scores", "1", "a"}, "hash": {"HSET", "hash", "field", "value"},
	}
	for content, set := range contents {
		_, err := s.Command(set...)
		must(t, err)
		before, err := s.Command("DUMP", content)
		must(t, err)
		for name, call := range calls {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := call(ctx, content)
			if err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s of a %s: %v", name, content, err)
			} else if !errors.Is(err, leasehold.ErrUnavailable) && !errors.Is(err, leasehold.ErrInvalid) {
				t.Errorf("%s of a %s: %v, want an error of the server", name, content, err)
			} else if !strings.Contains(err.Error(), "use another") || strings.Contains(err.Error(), "user_script") {
				t.Errorf("%s of a %s: %v, want what to do, without a line of a script", name, content, err)
			}
			cancel()
			if after, err := s.Command("DUMP", content); after != before || err != nil {
				t.Errorf("%s has changed a %s", name, content)
			}
		}
	}
	if n, err := s.Command("DBSIZE"); n != int64(len(contents)) || err != nil {
		keys, _ := s.Command("KEYS", "*")
		t.Errorf("%v keys, %v: %q; want %d", n, err, keys, len(contents))
	}
}
