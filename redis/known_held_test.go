package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// A take asks first whether the name is free, and joins the queue with a second request. Its time ends while a request
// has no answer. If that is the second one, it is known that the name is held.
func TestHeldIsKnownWhenTheJoinHangs(t *testing.T) {
	t.Parallel()
	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
		for answered := range 2 {
			t.Run(fmt.Sprint(mode, " ", answered), func(t *testing.T) {
				t.Parallel()
				s := redisserver.ForTest(t, redisserver.Config{})
				p := redisserver.ProxyForTest(t, s.Addr())
				mustTake(t, unguarded(t, standalone(s)), lasting("a", time.Minute))
				e := unguarded(t, slowClient(p.Addr()))
				warmUp := lasting("b", time.Minute) // the server gets to know the scripts
				warmUp.Mode = mode
				mustTake(t, e, warmUp)

				var asked atomic.Int32
				p.Intercept(func(request []byte) redisserver.Action {
					isAbout := func(word string) bool { return strings.Contains(word, "lock:a") }
					if slices.ContainsFunc(redisserver.Words(request), isAbout) && int(asked.Add(1)) > answered {
						return redisserver.Hold
					}
					return redisserver.Pass
				})
				defer p.Intercept(nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
				defer cancel()
				r := lasting("a", time.Minute)
				r.Mode, r.Join = mode, true
				_, err := e.Take(ctx, r)
				if driver.IsKnownHeld(err) != (answered > 0) || err == nil || driver.IsNo(err) {
					t.Errorf("after %d requests: %v, known held: %v", asked.Load(), err, driver.IsKnownHeld(err))
				}
			})
		}
	}
}
