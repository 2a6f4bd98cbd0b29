package redisson_test

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

func (p commandTest) mustDo(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// counts checks how many permits are available and held.
func (p commandTest) counts(name string, available, held int) {
	p.Helper()
	a, h, err := p.engine.PermitExpirableSemaphore(name).CountPermits(p.Context())
	if a != available || h != held || err != nil {
		p.Errorf("%d permits are available and %d held, %v; want %d and %d", a, h, err, available, held)
	}
}

// A number that somebody has set stays, however large the sizes of takes are, and limits them.
func TestTakesLeaveANumberOfPermitsThatWasSet(t *testing.T) {
	p := newCommandTest(t)
	s := p.engine.PermitExpirableSemaphore("a")
	p.take(permits("a", 5, 1)) // sets 5
	if set, err := s.TrySetPermits(t.Context(), 9); set || err != nil {
		t.Errorf("TrySetPermits of what is set: %v, %v", set, err)
	}
	p.counts("a", 4, 1)
	p.mustDo(s.SetPermits(t.Context(), 5)) // the same number, but now somebody wants it
	last := permits("a", 9, 1)
	p.take(last)
	p.counts("a", 3, 2)
	p.mustDo(p.engine.Release(t.Context(), driver.Release{Hold: holdOf(last)}))
	p.mustDo(s.SetPermits(t.Context(), 2))
	p.counts("a", 1, 1)
	p.take(permits("a", 5, 1))
	if _, err := p.engine.Take(t.Context(), permits("a", 5, 1)); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("a third take of two permits: %v", err)
	}
	p.mustDo(s.SetPermits(t.Context(), 1))
	p.counts("a", -1, 2)
	p.mustDo(s.AddPermits(t.Context(), 2))
	p.counts("a", 1, 2)
	p.mustDo(s.AddPermits(t.Context(), -1))
	p.counts("a", 0, 2)
	p.command("ZADD", "{a}:timeout", "1", strings.Repeat("e", 16)) // its lease has ended
	p.counts("a", 1, 2)
	p.expect(int64(2), "ZCARD", "{a}:timeout")
}

// A permit can be released by its id, whoever holds it. Its lease can be shortened, but not that of a holder in Go.
func TestPermitsByTheirIDs(t *testing.T) {
	p := newCommandTest(t)
	s := p.engine.PermitExpirableSemaphore("a")
	java := strings.Repeat("j", 16)
	end := time.Now().Add(time.Minute).UnixMilli() // more than the 10 s below, as the machine may be late
	r := permits("a", 3, 1)
	p.take(r)
	golang := redisson.PermitID(r.Owner, 1)
	p.command("ZADD", "{a}:timeout", "922337203685477", java)
	p.command("ZADD", "{a}:timeout", "1", strings.Repeat("e", 16)) // has ended
	p.command("SET", "a", "0")
	update := func(want bool, id string, d time.Duration) {
		t.Helper()
		if held, err := s.UpdateLeaseTime(t.Context(), hex.EncodeToString([]byte(id)), d); held != want || err != nil {
			t.Errorf("UpdateLeaseTime: %v, %v, want %v", held, err, want)
		}
	}
	release := func(want bool, id string) {
		t.Helper()
		if held, err := s.TryRelease(t.Context(), hex.EncodeToString([]byte(id))); held != want || err != nil {
			t.Errorf("TryRelease: %v, %v, want %v", held, err, want)
		}
	}
	leaseTime := func(id string, least, most time.Duration, want bool) {
		t.Helper()
		left, held, err := s.LeaseTime(t.Context(), hex.EncodeToString([]byte(id)))
		if left < least || left > most || held != want || err != nil {
			t.Errorf("LeaseTime: %v, %v, %v, want %v, and %v to %v", left, held, err, want, least, most)
		}
	}
	leaseTime(java, driver.NoTTL, driver.NoTTL, true)
	leaseTime(golang, time.Second, r.TTL, true)
	leaseTime(strings.Repeat("e", 16), 0, 0, false)
	leaseTime(strings.Repeat("n", 16), 0, 0, false)
	p.expect("0", "GET", "a") // it changes nothing
	score := func(id string) string { return p.command("ZSCORE", "{a}:timeout", id).(string) }
	update(true, java, 10*time.Second)
	if ms, err := strconv.ParseInt(score(java), 10, 64); ms > end || err != nil {
		t.Errorf("the lease of a permit of Java ends at %s, want in 10 s", score(java))
	}
	leaseTime(java, 10*time.Millisecond, 10*time.Second+time.Second, true)
	before := score(golang)
	update(true, golang, time.Second)
	if after := score(golang); after != before {
		t.Errorf("the lease of a permit in Go ends at %s, want %s as before", after, before)
	}
	update(false, strings.Repeat("e", 16), time.Second)
	p.expect("1", "GET", "a") // it was available again
	update(false, strings.Repeat("n", 16), time.Second)
	waiter := permits("a", 3, 2)
	done := make(chan error, 1)
	go func() { _, err := p.engine.Wait(t.Context(), waiter); done <- err }()
	for p.command("PUBSUB", "NUMSUB", "redisson_sc:{a}").([]any)[1] != int64(1) {
		time.Sleep(time.Millisecond)
	}
	release(true, java)
	select {
	case err := <-done:
		p.mustDo(err)
	case <-time.After(5 * time.Second): // the leases of all last longer
		t.Error("a release by id woke nobody")
	}
	release(false, java)
	release(true, golang)
	if err := renewOne(t.Context(), p.engine, r, time.Minute); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Renew of permits that were released by their ids: %v", err)
	}
}

// What cannot be sent is refused, and nothing is changed in what is no semaphore.
func TestNumbersOfPermitsThatAreRefused(t *testing.T) {
	p := newCommandTest(t)
	s := p.engine.PermitExpirableSemaphore("a")
	_, number := s.TrySetPermits(t.Context(), -1)
	_, id := s.TryRelease(t.Context(), "no id")
	_, lease := s.UpdateLeaseTime(t.Context(), strings.Repeat("0", 32), time.Millisecond)
	_, _, leaseOf := s.LeaseTime(t.Context(), "no id")
	_, _, name := p.engine.PermitExpirableSemaphore("{a}").CountPermits(t.Context())
	for what, err := range map[string]error{
		"TrySetPermits": number, "SetPermits": s.SetPermits(t.Context(), -1), "TryRelease": id, "a lease": lease,
		"LeaseTime": leaseOf,
		"a name":    name, "AddPermits": s.AddPermits(t.Context(), 1<<40),
	} {
		if !errors.Is(err, driver.ErrInvalid) || !driver.HadNoEffect(err) {
			t.Errorf("%s: %v, want an ErrInvalid without an effect", what, err)
		}
	}
	p.expect(int64(0), "DBSIZE")
	p.set("latch", 2)
	p.command("SET", "text", "many")
	for _, name := range []string{"latch", "text"} {
		before := p.command("DUMP", name)
		if err := p.engine.PermitExpirableSemaphore(name).SetPermits(t.Context(), 5); !driver.IsPermanent(err) {
			t.Errorf("SetPermits of %s: %v, want a permanent error", name, err)
		}
		p.expect(before, "DUMP", name)
	}
}
