package objects_test

import (
	"errors"
	"testing"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

func wantTry(t *testing.T, want bool, got bool, err error) {
	t.Helper()
	if err != nil || got != want {
		t.Fatalf("try: %v, %v, want %v", got, err, want)
	}
}

// Readers share the lock. A writer excludes all, may read, and goes on as a reader.
func TestReadWriteLock(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := newClient(t, s).ReadWriteLock("orders"), newClient(t, s).ReadWriteLock("orders")
	tryRead := func(l *objects.ReadWriteLock, want bool) {
		t.Helper()
		got, err := l.TryRLock(t.Context())
		wantTry(t, want, got, err)
	}
	tryWrite := func(l *objects.ReadWriteLock, want bool) {
		t.Helper()
		got, err := l.TryLock(t.Context())
		wantTry(t, want, got, err)
	}
	must(t, a.RLock(t.Context()))
	tryRead(b, true)
	if err := a.Lock(t.Context()); !errors.Is(err, leasehold.ErrUpgrade) {
		t.Errorf("a reader locks for writing: %v", err)
	}
	must(t, a.RUnlock())
	tryWrite(a, false)
	must(t, b.RUnlock())
	tryWrite(a, true)
	must(t, a.Lock(t.Context()))
	tryRead(a, true)
	tryRead(b, false)
	if writes, reads := a.HoldCounts(); writes != 2 || reads != 1 {
		t.Errorf("held %d times for writing and %d times for reading, want 2 and 1", writes, reads)
	}
	must(t, a.Unlock())
	tryRead(b, false)
	must(t, a.Unlock())
	tryRead(b, true)
	tryWrite(newClient(t, s).ReadWriteLock("orders"), false)
	must(t, errors.Join(a.RUnlock(), b.RUnlock()))
	for _, end := range []func() error{a.Unlock, a.RUnlock} {
		if err := end(); !errors.Is(err, objects.ErrNotHeld) {
			t.Errorf("the end of what is not held: %v", err)
		}
	}
	if a.Context().Err() == nil {
		t.Error("the context of a lock that is not held has not ended")
	}
}
