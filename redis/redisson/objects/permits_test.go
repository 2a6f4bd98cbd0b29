package objects_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// The number of permits is what somebody has set, whatever the sizes of values that acquire some.
func TestNumberOfPermits(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	p, other := newClient(t, s).PermitExpirableSemaphore("a", 9), newClient(t, s).PermitExpirableSemaphore("a", 9)
	counts := func(available, acquired int) {
		t.Helper()
		n, err := other.AvailablePermits(t.Context())
		must(t, err)
		m, err := other.AcquiredPermits(t.Context())
		must(t, err)
		all, err := other.Permits(t.Context())
		if n != available || m != acquired || all != n+m || err != nil {
			t.Errorf("%d available, %d acquired, %d in all, %v; want %d and %d", n, m, all, err, available, acquired)
		}
	}
	counts(0, 0)
	for _, want := range []bool{true, false} {
		ok, err := p.TrySetPermits(t.Context(), 2)
		wantTry(t, want, ok, err)
	}
	lease, err := p.TryAcquire(t.Context(), 2)
	must(t, err)
	counts(0, 2)
	if _, err := p.TryAcquire(t.Context(), 1); !errors.Is(err, leasehold.ErrHeld) {
		t.Errorf("a third of two permits: %v", err)
	}
	must(t, other.AddPermits(t.Context(), 1))
	counts(1, 2)
	must(t, other.SetPermits(t.Context(), 1))
	counts(-1, 2)
	must(t, lease.Release())
	counts(1, 0)
}

// A permit is released by its id, which wakes who waits.
func TestPermitReleasedByID(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	p := newClient(t, s).PermitExpirableSemaphore("a", 1)
	raw := strings.Repeat("j", 16)
	id := hex.EncodeToString([]byte(raw))
	for _, words := range [][]string{{"SET", "a", "0"}, {"ZADD", "{a}:timeout", "922337203685477", raw}} {
		_, err := s.Command(words...)
		must(t, err)
	}
	left, held, err := p.LeaseTime(t.Context(), id)
	if wantTry(t, true, held, err); left != driver.NoTTL {
		t.Errorf("the lease of a permit without one has %v left", left)
	}
	held, err = p.UpdateLeaseTime(t.Context(), id, time.Hour)
	wantTry(t, true, held, err)
	left, held, err = p.LeaseTime(t.Context(), id)
	if wantTry(t, true, held, err); left < time.Minute || left > time.Hour+time.Second {
		t.Errorf("the lease of an hour has %v left", left)
	}
	acquired := make(chan error, 1)
	go func() { _, err := p.Acquire(t.Context(), 1); acquired <- err }()
	awaitSubscriber(t, s, "redisson_sc:{a}")
	held, err = p.TryReleaseID(t.Context(), id)
	wantTry(t, true, held, err)
	select {
	case err := <-acquired:
		must(t, err)
	case <-time.After(5 * time.Second): // it polls after ten
		t.Error("a release by id woke nobody")
	}
	held, err = p.TryReleaseID(t.Context(), id)
	wantTry(t, false, held, err)
	held, err = p.UpdateLeaseTime(t.Context(), id, time.Hour)
	wantTry(t, false, held, err)
	_, held, err = p.LeaseTime(t.Context(), id)
	wantTry(t, false, held, err)
}

// What is not allowed is an ErrInvalid, and a server that does not answer leaves unknown what it may have done.
func TestErrorsOfPermits(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	p := newClient(t, s).PermitExpirableSemaphore("a", 1)
	_, number := p.TrySetPermits(t.Context(), -1)
	_, id := p.TryReleaseID(t.Context(), "none")
	_, _, leaseOf := p.LeaseTime(t.Context(), "none")
	_, lease := p.UpdateLeaseTime(t.Context(), strings.Repeat("0", 32), time.Millisecond)
	for call, err := range map[string]error{
		"TrySetPermits": number, "TryReleaseID": id, "UpdateLeaseTime": lease,
		"SetPermits": p.SetPermits(t.Context(), -1), "LeaseTime": leaseOf,
	} {
		if !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("%s: %v, want an ErrInvalid", call, err)
		}
	}
	must(t, s.Pause())
	_, id = p.TryReleaseID(t.Context(), strings.Repeat("0", 32))
	_, count := p.AvailablePermits(t.Context())
	must(t, s.Resume())
	if !errors.Is(id, leasehold.ErrUnknown) {
		t.Errorf("TryReleaseID without an answer: %v, want an ErrUnknown", id)
	}
	if !errors.Is(count, leasehold.ErrUnavailable) {
		t.Errorf("AvailablePermits without an answer: %v, want an ErrUnavailable", count)
	}
}
