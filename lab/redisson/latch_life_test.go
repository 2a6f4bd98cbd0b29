package redisson

import (
	"testing"

	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

func TestLatchesOfBothSidesLiveUntilZero(t *testing.T) {
	t.Parallel()
	onServers(t, map[string]func(*shared){
		"ALatchSetInGoHasNoEnd":       latchSetInGoHasNoEnd,
		"WhatIsKnownOfALatchHasEnded": latchOfWhichNothingIsKnown,
	})
}

// ttl returns the milliseconds that a key has left, or -1 if it has no end.
func (s *shared) ttl(key string) int64 {
	s.Helper()
	left, err := s.rdb.Do(s.Context(), "PTTL", key).Int64()
	if err != nil {
		s.Fatal(err)
	}
	return left
}

// A latch that was set in Go lives until it is at zero, as one that was set in Java.
func latchSetInGoHasNoEnd(s *shared) {
	latch := s.golang.Latch("endless")
	s.inJava(true, "latch.trySetCount", "endless in Java", 3)
	s.trySet(true, latch, 3)
	for _, left := range []int64{3, 2, 1} {
		if java, golang := s.ttl("endless in Java"), s.ttl("endless"); golang != java || golang != -1 {
			s.Errorf("with %d left, the latch set in Go ends in %d ms, that set in Java in %d", left, golang, java)
		}
		s.inJava(left, "latch.getCount", "endless")
		if left == 3 {
			s.countDown(latch, 2)
		} else {
			s.inJava(nil, "latch.countDown", "endless")
		}
		s.inJava(nil, "latch.countDown", "endless in Java")
	}
	s.inJava(nil, "latch.await", "endless")
}

// When what only Go knows of a latch has expired, the waiters of both sides wait until the count is at zero, whoever
// has set it and whoever counts last.
func latchOfWhichNothingIsKnown(s *shared) {
	const name = "forgotten"
	latch := s.golang.Latch(name)
	for _, last := range []string{"Java", "Go"} {
		s.trySet(true, latch, 3)
		inGo := s.waitInGo(latch.Wait)
		inJava := s.waitInJava("latch.await", name, 60000, javaside.Milliseconds)
		s.forget(name)
		s.inJava(false, "latch.trySetCount", name, 7)
		s.trySet(false, latch, 7)
		s.inJava(nil, "latch.countDown", name)
		late := s.waitInGo(latch.Wait)
		s.countDown(latch, 1)
		s.inJava(int64(1), "latch.getCount", name)
		if last == "Go" {
			s.forget(name)
		}
		s.mustWait(inJava.Done())
		for _, done := range []<-chan error{inGo, late} {
			select {
			case err := <-done:
				s.Fatalf("Wait in Go has returned %v with 1 left", err)
			default:
			}
		}
		if last == "Java" {
			s.inJava(nil, "latch.countDown", name)
		} else {
			s.countDown(latch, 0)
		}
		s.mustEnd(inGo)
		s.mustEnd(late)
		if s.mustReturn(inJava) != true {
			s.Error("await in Java ended without the count at zero")
		}
		s.inJava(int64(0), "latch.getCount", name)
	}
	s.inJava(true, "latch.trySetCount", name, 1)
	s.forget(name)
	inGo := s.waitInGo(latch.Wait)
	s.inJava(nil, "latch.countDown", name)
	s.mustEnd(inGo)
	s.trySet(true, latch, 1)
}

// forget lets what Go knows of a latch expire, and wakes the waiters in Go, who look at it then.
func (s *shared) forget(name string) {
	s.Helper()
	if err := s.rdb.PExpire(s.Context(), "leasehold_latch:{"+name+"}", 1).Err(); err != nil {
		s.Fatal(err)
	}
	for there := int64(1); there > 0; {
		var err error
		if there, err = s.rdb.Exists(s.Context(), "leasehold_latch:{"+name+"}").Result(); err != nil {
			s.Fatal(err)
		}
	}
	send := s.rdb.Publish
	if s.client == "cluster" {
		send = s.rdb.SPublish
	}
	if err := send(s.Context(), "redisson_countdownlatch__channel__{"+name+"}", "1").Err(); err != nil {
		s.Fatal(err)
	}
}
