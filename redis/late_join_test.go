package redis_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// departedRecord is the record of a place whose owner has left, as release.lua writes it.
func departedRecord() string {
	now := time.Now().UnixMilli()
	return fmt.Sprintf("s 1 2147483647 0 1 %d %d - 0 -\n", now, now)
}

// A call has waited as three owners, one after the other, at one place in the queue. A request of the second one is in
// flight for so long that it arrives when the third one waits there, or when nobody does and the third one is about to
// come. The third one has the place, and is granted the lock.
func TestLateJoinOfAnEarlierOwner(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]bool{"AfterTheNextOne": false, "BeforeTheNextOne": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			p := redisserver.ProxyForTest(t, s.Addr())
			x, others := unguarded(t, slowClient(p.Addr())), unguarded(t, standalone(s))
			holder, first := lasting("a", time.Minute), lasting("a", time.Minute)
			mustTake(t, others, holder)
			first = mustJoin(t, x, first)
			second, third := first, first
			second.Owner, second.Place = rand.Text(), first.Owner
			third.Owner, third.Place = rand.Text(), first.Owner
			if between { // the second one waits there before, and polls
				second = mustJoin(t, x, second)
			}

			held := make(chan struct{})
			p.Intercept(func(request []byte) redisserver.Action {
				if slices.Contains(redisserver.Words(request), second.Owner) {
					close(held)
					p.Intercept(nil)
					return redisserver.Hold
				}
				return redisserver.Pass
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() { _, _ = x.Take(ctx, second) }()
			<-held
			cancel()
			wantOwner := func(owner string) {
				t.Helper()
				if at := command(t, s, "HGET", "{lock:a}:info", "o"+first.Owner); at != owner {
					t.Errorf("the owner at the place is %q, want %q", at, owner)
				}
			}
			if between { // its turn is kept for the next one
				command(t, s, "HSET", "{lock:a}:info", "o"+first.Owner, "!"+second.Owner, "w"+first.Owner,
					departedRecord())
				deliver(t, p, s)
				wantOwner("!" + second.Owner)
				third = mustJoin(t, x, third)
			} else {
				third = mustJoin(t, x, third)
				deliver(t, p, s)
			}
			wantOwner(third.Owner)
			got := startWait(t, x, third)
			release(t, others, holder)
			granted(t, got)
			if !hasLock(t, s, third) {
				t.Error("the lock was granted to another owner of the call")
			}
			release(t, x, third)
			_ = x.Release(t.Context(), driver.Release{Hold: hold(second), Place: first.Owner})
		})
	}
}
