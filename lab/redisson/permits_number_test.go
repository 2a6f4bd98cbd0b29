package redisson

import (
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

func TestNumbersOfPermitsOfBothSides(t *testing.T) {
	t.Parallel()
	onServers(t, map[string]func(*shared){
		"NumbersAreShared":     numbersOfPermitsAreShared,
		"PermitsAreReleasedBy": permitsReleasedByID,
		"LeasesAreUpdated":     leasesUpdatedByID,
	})
}

// permits returns a semaphore whose permits have leases.
func (s *shared) permits(name string, size int) *objects.PermitExpirableSemaphore {
	s.Helper()
	c, err := objects.New(s.rdb)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, leasehold.ErrLost) { // Java has released what it held
			s.Error(err)
		}
	})
	return c.PermitExpirableSemaphore(name, size)
}

func (s *shared) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// What one side sets or adds, the other sees, and its waiters get.
func numbersOfPermitsAreShared(s *shared) {
	const name = "number of slots"
	p := s.permits(name, 100)
	counts := func(available, acquired int) {
		s.Helper()
		s.inJava(int64(available), "permits.availablePermits", name)
		s.inJava(int64(acquired), "permits.acquiredPermits", name)
		s.inJava(int64(available+acquired), "permits.getPermits", name)
		a, err := p.AvailablePermits(s.Context())
		b, err2 := p.AcquiredPermits(s.Context())
		c, err3 := p.Permits(s.Context())
		s.must(errors.Join(err, err2, err3))
		if a != available || b != acquired || c != available+acquired {
			s.Fatalf("in Go, %d are available, %d acquired, %d in all; want %d and %d", a, b, c, available, acquired)
		}
	}
	trySet := func(want bool) {
		s.Helper()
		if set, err := p.TrySetPermits(s.Context(), 1); set != want || err != nil {
			s.Fatalf("TrySetPermits: %v, %v, want %v", set, err, want)
		}
	}
	trySet(true)
	trySet(false)
	s.inJava(false, "permits.trySetPermits", name, 5)
	s.java.MustCall(s.client, "permits.acquire", name, 60000, javaside.Milliseconds)
	counts(0, 1)
	for _, more := range []func(){
		func() { s.must(p.AddPermits(s.Context(), 1)) },
		func() { s.must(p.SetPermits(s.Context(), 3)) },
	} {
		waits := s.waitInJava("permits.acquire", name, 60000, javaside.Milliseconds)
		more()
		s.mustReturn(waits)
	}
	counts(0, 3)
	for _, more := range []func(){
		func() { s.inJava(nil, "permits.addPermits", name, 1) },
		func() { s.inJava(nil, "permits.setPermits", name, 5) },
	} {
		acquired := make(chan error, 1)
		go func() { _, err := p.Acquire(s.Context(), 1); acquired <- err }()
		time.Sleep(asleep)
		more()
		s.mustEnd(acquired)
	}
	counts(0, 5)
	s.must(p.SetPermits(s.Context(), 4))
	counts(-1, 5)
}

// onlyID returns the id of the only permit that is held.
func (s *shared) onlyID(name string) string {
	s.Helper()
	ids, err := s.rdb.ZRange(s.Context(), "{"+name+"}:timeout", 0, -1).Result()
	if err != nil || len(ids) != 1 {
		s.Fatalf("%d permits are held, %v", len(ids), err)
	}
	return hex.EncodeToString([]byte(ids[0]))
}

// Each side releases by its id what the other has acquired, and wakes the waiters of both.
func permitsReleasedByID(s *shared) {
	const name = "slots by id"
	p := s.permits(name, 1)
	s.inJava(true, "permits.trySetPermits", name, 1)
	id := s.java.MustCall(s.client, "permits.acquire", name).(string)
	acquired := make(chan error, 1)
	go func() { _, err := p.Acquire(s.Context(), 1); acquired <- err }()
	time.Sleep(asleep)
	if held, err := p.TryReleaseID(s.Context(), id); !held || err != nil {
		s.Fatalf("TryReleaseID: %v, %v", held, err)
	}
	s.mustEnd(acquired)
	s.inJava(false, "permits.tryRelease", name, id)

	waits := s.waitInJava("permits.acquire", name, 60000, javaside.Milliseconds)
	s.inJava(true, "permits.tryRelease", name, s.onlyID(name)) // that of Go
	id = s.mustReturn(waits).(string)
	waits = s.waitInJava("permits.acquire", name, 60000, javaside.Milliseconds)
	if held, err := p.TryReleaseID(s.Context(), id); !held || err != nil {
		s.Fatalf("TryReleaseID: %v, %v", held, err)
	}
	s.mustReturn(waits)
	if held, err := p.TryReleaseID(s.Context(), id); held || err != nil {
		s.Errorf("TryReleaseID of what is released: %v, %v", held, err)
	}
}

// Each side may shorten the lease of a permit in Java.
func leasesUpdatedByID(s *shared) {
	const name = "slots for a while"
	p := s.permits(name, 1)
	s.inJava(true, "permits.trySetPermits", name, 1)
	id := s.java.MustCall(s.client, "permits.acquire", name).(string) // without a lease
	if held, err := p.UpdateLeaseTime(s.Context(), id, time.Minute); !held || err != nil {
		s.Fatalf("UpdateLeaseTime: %v, %v", held, err)
	}
	left := s.java.MustCall(s.client, "permits.getLeaseTime", name, id).(int64)
	if left <= 0 || left > time.Minute.Milliseconds() {
		s.Errorf("in Java, the lease has %d ms left, want a minute at most", left)
	}
	here, held, err := p.LeaseTime(s.Context(), id)
	if !held || err != nil || (here-time.Duration(left)*time.Millisecond).Abs() > slack {
		s.Errorf("the lease has %d ms left in Java, and in Go %v, %v, %v", left, here, held, err)
	}
	if held, err := p.UpdateLeaseTime(s.Context(), id, 3*time.Second); !held || err != nil {
		s.Fatalf("UpdateLeaseTime: %v, %v", held, err)
	}
	waits := s.waitInJava("permits.acquire", name, 60000, javaside.Milliseconds)
	s.mustReturn(waits)
	if held, err := p.UpdateLeaseTime(s.Context(), id, time.Minute); held || err != nil {
		s.Errorf("UpdateLeaseTime of what has ended: %v, %v", held, err)
	}
}
