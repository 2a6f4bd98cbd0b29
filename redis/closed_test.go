package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// A waiter that waits because grants are closed is told so, and until when. One that would wait anyway, because
// somebody holds the lock, is not.
func TestWaitersAreToldThatGrantsAreClosed(t *testing.T) {
	t.Parallel()
	const maxTTL, ttl = 4 * time.Second, 20 * time.Second // a waiter may poll once in half of the ttl
	s := redisserver.ForTest(t, redisserver.Config{})
	started := time.Now()
	e := open(t, standalone(s), redis.WithMaxTTL(maxTTL))
	held := lasting("held", time.Minute)
	mustTake(t, unguarded(t, standalone(s)), held)

	var all []<-chan grant
	// the second one waits behind the first
	for _, r := range []driver.Request{lasting("a", ttl), lasting("a", ttl), shared(lasting("b", ttl)),
		permit(lasting("c", ttl))} {
		if _, err := e.Take(t.Context(), r); driver.IsNo(err) || !driver.HadNoEffect(err) {
			t.Errorf("Take of %s %q: %v, want an error without effect that is no ErrHeld", r.Kind, r.Name, err)
		}
		r.Join = true
		for range 2 { // the second time it keeps its place
			_, err := e.Take(t.Context(), r)
			closed, isClosed := errors.AsType[*redis.ClosedError](err)
			if !errors.Is(err, driver.ErrHeld) || !isClosed || driver.IsPermanent(err) {
				t.Fatalf("Take of %s %q: %v, want ErrHeld and a ClosedError", r.Kind, r.Name, err)
			}
			if opens := closed.Open.Sub(started); opens < maxTTL-2*time.Second || opens > maxTTL+2*soon {
				t.Errorf("grants open after %v, want after %v", opens, maxTTL)
			}
		}
		got := startWait(t, e, r)
		all = append(all, got)
		if len(all) == 1 {
			defer release(t, e, r)
		}
	}
	next := lasting("held", time.Minute)
	next.Join = true
	for range 2 {
		_, err := e.Take(t.Context(), next)
		if _, isClosed := errors.AsType[*redis.ClosedError](err); isClosed || !errors.Is(err, driver.ErrHeld) {
			t.Errorf("Take of what is held: %v, want ErrHeld alone", err)
		}
	}
	granted(t, all[0])
	granted(t, all[2])
	granted(t, all[3])
}
