package objects_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// Close ends the calls that wait, and they leave nothing in a queue.
func TestCloseWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	holder := newClient(t, s).FairLock("orders")
	must(t, holder.Lock(t.Context()))
	c := newClient(t, s)
	waiting := c.FairLock("orders")
	ended := make(chan error, 1)
	go func() { ended <- waiting.Lock(t.Context()) }()
	queued := func() any {
		n, err := s.Command("LLEN", "redisson_lock_queue:{orders}")
		must(t, err)
		return n
	}
	for queued() != int64(1) {
		must(t, t.Context().Err())
	}
	must(t, c.Close())
	if err := <-ended; !errors.Is(err, leasehold.ErrClosed) {
		t.Errorf("Lock while the client is closed: %v", err)
	}
	if n := queued(); n != int64(0) {
		t.Errorf("%v waiters are left in the queue", n)
	}
	if _, err := waiting.TryLock(t.Context()); !errors.Is(err, leasehold.ErrClosed) {
		t.Errorf("TryLock after Close: %v", err)
	}
	must(t, holder.Unlock())
}

// A call that waits for another one on the same value ends with its context.
func TestCallsOfOneValueEndWithTheirContext(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	holder := newClient(t, s).Lock("orders")
	must(t, holder.Lock(t.Context()))
	l := newClient(t, s).Lock("orders")
	first, cancelFirst := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Lock(first) }()
	awaitSubscriber(t, s, "redisson_lock__channel:{orders}")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if ok, err := l.TryLock(ctx); ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("TryLock behind a Lock: %v, %v", ok, err)
	}
	cancelFirst()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Lock: %v", err)
	}
	must(t, holder.Unlock())
}

// A lock that was taken for a while, and is locked again without that, lasts for the watchdog's time.
func TestLockAgainWithoutALease(t *testing.T) {
	t.Parallel()
	l := newClient(t, redisserver.ForTest(t, redisserver.Config{})).Lock("orders")
	must(t, l.Lock(t.Context(), objects.LeaseTime(5*time.Second)))
	must(t, l.Lock(t.Context()))
	if left, err := l.RemainingTime(t.Context()); err != nil || left < 20*time.Second {
		t.Errorf("%v of the lease are left, %v; want nearly 30s", left, err)
	}
	must(t, errors.Join(l.Unlock(), l.Unlock()))
}
