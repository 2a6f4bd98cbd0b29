package redisson

import (
	"errors"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

func (s *shared) trySet(want bool, latch *leasehold.Latch, n int) {
	s.Helper()
	if set, err := latch.TrySet(s.Context(), n); set != want || err != nil {
		s.Fatalf("TrySet: %v, %v; want %v", set, err, want)
	}
}

func (s *shared) countDown(latch *leasehold.Latch, want int) {
	s.Helper()
	if left, err := latch.CountDown(s.Context()); left != want || err != nil {
		s.Fatalf("CountDown: %d, %v; want %d", left, err, want)
	}
}

// A latch set by either side is counted down by both, and wakes the waiters of both, whoever counts last.
func latchIsShared(s *shared) {
	latch := s.golang.Latch("started")
	count := func(want int) {
		s.Helper()
		s.inJava(int64(want), "latch.getCount", "started")
		if n, err := latch.Count(s.Context()); n != want || err != nil {
			s.Fatalf("Count: %d, %v; want %d", n, err, want)
		}
	}
	s.trySet(true, latch, 3)
	for _, last := range []string{"Java", "Go", "Java", "Go"} {
		count(3)
		s.trySet(false, latch, 5)
		s.inJava(false, "latch.trySetCount", "started", 5)
		inGo := s.waitInGo(latch.Wait)
		inJava := s.waitInJava("latch.await", "started", 60000, javaside.Milliseconds)
		s.countDown(latch, 2)
		s.inJava(nil, "latch.countDown", "started")
		count(1)
		s.mustWait(inJava.Done())
		if last == "Java" {
			s.inJava(nil, "latch.countDown", "started")
		} else {
			s.countDown(latch, 0)
		}
		s.mustEnd(inGo)
		if s.mustReturn(inJava) != true {
			s.Error("await in Java ended without the count at zero")
		}
		count(0)
		s.inJava(nil, "latch.countDown", "started") // not below zero
		s.countDown(latch, 0)
		if last == "Java" {
			s.inJava(true, "latch.trySetCount", "started", 3)
		} else {
			s.trySet(true, latch, 3)
		}
	}
}

// A latch of which nobody knows in Go is not set there once it is at zero, while Java takes every such latch for one at
// zero. A latch that Java deletes is at zero for both.
func latchThatIsGone(s *shared) {
	latch := s.golang.Latch("gone")
	s.inJava(nil, "latch.await", "gone")
	if err := latch.Wait(s.Context()); !errors.Is(err, leasehold.ErrNotSet) {
		s.Errorf("Wait for a latch that is not set: %v", err)
	}
	s.inJava(true, "latch.trySetCount", "gone", 1)
	waits := s.waitInGo(latch.Wait)
	s.inJava(nil, "latch.countDown", "gone")
	s.mustEnd(waits)

	s.trySet(true, latch, 2)
	waits = s.waitInGo(latch.Wait)
	s.inJava(true, "latch.delete", "gone")
	s.mustEnd(waits)
	s.trySet(true, latch, 2)
}

// Deleting a latch in Go is what delete in Java is: waiters of both go on, and both may set it again.
func latchDeletedInGo(s *shared) {
	latch := s.golang.Latch("deleted")
	for _, setter := range []string{"Java", "Go"} {
		if setter == "Java" {
			s.inJava(true, "latch.trySetCount", "deleted", 2)
		} else {
			s.trySet(true, latch, 2)
		}
		inGo := s.waitInGo(latch.Wait)
		inJava := s.waitInJava("latch.await", "deleted", 60000, javaside.Milliseconds)
		for _, want := range []bool{true, false} {
			if deleted, err := s.engine.DeleteLatch(s.Context(), "deleted"); deleted != want || err != nil {
				s.Fatalf("DeleteLatch: %v, %v, want %v", deleted, err, want)
			}
		}
		s.mustEnd(inGo)
		if s.mustReturn(inJava) != true {
			s.Error("await in Java ended without the count at zero")
		}
		s.inJava(int64(0), "latch.getCount", "deleted")
	}
}
