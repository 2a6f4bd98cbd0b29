package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// A waiter for a lock is not overtaken, whatever is done with the semaphore of the same name.
func TestSemaphoreLeavesTheMarksOfItsName(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, beside := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	mustTake(t, beside, lasting("a", time.Minute))
	r := mustJoin(t, e, lasting("a", time.Minute))
	p := permit(lasting("a", time.Minute))
	mustTake(t, beside, p)
	release(t, beside, p)
	command(t, s, "DEL", "lock:a") // as if its lease had ended
	if _, err := beside.Take(t.Context(), lasting("a", time.Minute)); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("a Take while others wait: %v, want ErrHeld", err)
	}
	granted(t, startWait(t, e, r))
	release(t, e, r)
}

// If the list of readers is lost, as when the server evicts it, the lock is free: no lease of before can be renewed.
func TestLostListOfReaders(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for _, r := range []driver.Request{shared(lasting("a", time.Minute)), permit(lasting("a", time.Minute))} {
		mustTake(t, e, r)
		command(t, s, "DEL", "{lock:a}:holders", "{lock:a}:permits-holders")
		if err := renewOne(t.Context(), e, hold(r), time.Minute); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("renewal: %v, want ErrNotHeld", err)
		}
		next := lasting(r.Name, time.Minute)
		next.Kind, next.Join = r.Kind, true
		mustTake(t, e, next)
		release(t, e, next)
	}
}

// If somebody has deleted the key of readers, their leases end as soon as others have held the lock.
func TestDeletedReadersStayDeleted(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, beside := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	old := shared(lasting("a", time.Minute))
	mustTake(t, beside, old)
	command(t, s, "DEL", "lock:a")
	writer := lasting("a", time.Minute)
	mustTake(t, beside, writer)
	r := mustJoin(t, e, shared(lasting("a", time.Minute)))
	got := startWait(t, e, r)
	release(t, beside, writer)
	granted(t, got)
	if err := renewOne(t.Context(), beside, hold(old), time.Minute); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("renewal of a reader from before a writer: %v, want ErrNotHeld", err)
	}
	release(t, e, r)
	checkNothingLeft(t, s)
}
