package torture

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// If the server stands still, a lease ends at its deadline, and not later.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	m := open(t, s.Addr(), redis.WithoutFailoverGuard()).Mutex("a", leasehold.TTL(time.Second))
	l := lock(t, m)
	ctx := l.Context()
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if late := time.Since(l.Deadline()); late > soon || !errors.Is(context.Cause(ctx), leasehold.ErrLost) {
		t.Errorf("the context ended %v after the deadline: %v", late, context.Cause(ctx))
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); !errors.Is(err, leasehold.ErrLost) {
		t.Errorf("Release: %v, want ErrLost", err)
	}
	unlock(t, lock(t, m))
	awaitNothing(t, s, patience)
}

// A lease survives when a server with durable storage is killed and restarted, and waiters keep
// waiting.
func TestRestartedServer(t *testing.T) {
	t.Parallel()
	// Clients wait out an outage of this length, and a busy machine makes a restart take seconds.
	const ttl = 10 * time.Second
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}})
	grantAtOnce(t, s.Addr())
	holder := open(t, s.Addr(), redis.WithMaxTTL(ttl))
	a := holder.Mutex("a", leasehold.TTL(ttl))
	b := open(t, s.Addr(), redis.WithMaxTTL(ttl)).Mutex("a", leasehold.TTL(ttl))
	l := lock(t, a)
	ctx := l.Context()
	waiting := make(chan error, 1)
	go func() {
		next, err := b.Lock(t.Context())
		if err == nil {
			err = next.Release()
		}
		waiting <- err
	}()
	// The waiter joined some time ago, so it knows that it has joined. A waiter that does not know
	// may give up when the server dies.
	for waited := time.Duration(0); waited < 300*time.Millisecond; {
		seen, err := holder.ops.Inspect(t.Context(), "a")
		if err != nil || len(seen) != 1 {
			t.Fatalf("Inspect: %+v, %v", seen, err)
		}
		if len(seen[0].Queue) > 0 {
			waited = seen[0].Queue[0].Age
		}
	}
	s.Kill()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	restarted := time.Now()
	if _, err := a.TryLock(t.Context()); !errors.Is(err, leasehold.ErrHeld) {
		t.Errorf("TryLock: %v, want ErrHeld", err)
	}
	_, err := open(t, s.Addr(), redis.WithMaxTTL(ttl)).Mutex("free", leasehold.TTL(ttl)).TryLock(t.Context())
	if _, closed := errors.AsType[*redis.ClosedError](err); !closed || !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("TryLock of what is free: %v, want ErrUnavailable because of a ClosedError", err)
	}
	await(t, "the lease is renewed on the new server",
		func() bool { return ctx.Err() != nil || l.Deadline().After(restarted.Add(ttl)) })
	if ctx.Err() != nil {
		t.Errorf("the lease has ended: %v", context.Cause(ctx))
	}
	unlock(t, l)
	if err := <-waiting; err != nil {
		t.Errorf("the waiter: %v", err)
	}
	awaitNothing(t, s, patience)
}
