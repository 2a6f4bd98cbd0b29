package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// Callers give up at any moment, on connections that break at any moment: no two hold one name at
// the same time, and in the end nothing is left behind.
func TestCallersGiveUpAtAnyMoment(t *testing.T) {
	t.Parallel()
	const clients, callers, rounds, names, enough = 3, 6, 30, 3, 30
	s := redisserver.ForTest(t, redisserver.Config{})
	// The proxy breaks connections before a request is sent, or after its reply has come, which toxiproxy cannot.
	p := redisserver.ProxyForTest(t, s.Addr())
	all := make([]client, clients)
	for i := range all {
		all[i] = open(t, p.Addr(), redis.WithoutFailoverGuard())
		unlock(t, lock(t, all[i].Mutex("any"))) // the client has connected
	}
	p.Intercept(func([]byte) redisserver.Action {
		switch rand.IntN(50) {
		case 0:
			return redisserver.CutBefore
		case 1:
			return redisserver.CutAfter
		}
		return redisserver.Pass
	})
	var inside [names]sync.Mutex
	began := time.Now()
	var granted, gaveUp atomic.Int32
	var work sync.WaitGroup
	for _, c := range all {
		for range callers {
			work.Go(func() {
				for round := 0; round < rounds || granted.Load() < enough && time.Since(began) < patience; round++ {
					at := rand.IntN(names)
					m := c.Mutex(fmt.Sprint("name ", at), leasehold.TTL(5*time.Second))
					// On a busy machine callers become more and more patient, until some are
					// granted a lock.
					ctx, cancel := context.WithTimeout(t.Context(),
						time.Duration(rand.Int64N(int64(60*time.Millisecond)<<min(round/rounds, 6))))
					l, err := m.Lock(ctx)
					cancel()
					switch {
					case errors.Is(err, context.DeadlineExceeded), errors.Is(err, leasehold.ErrUnavailable):
						gaveUp.Add(1)
						continue
					case err != nil:
						t.Errorf("Lock: %v", err)
						return
					}
					granted.Add(1)
					if !inside[at].TryLock() {
						if l.Context().Err() == nil {
							t.Errorf("two hold name %d together", at)
						}
					} else {
						inside[at].Unlock()
					}
					if err := l.Release(); err != nil && !errors.Is(err, leasehold.ErrUnknown) &&
						!errors.Is(err, leasehold.ErrLost) {
						t.Errorf("Release: %v", err)
						return
					}
				}
			})
		}
	}
	work.Wait()
	p.Intercept(nil)
	if granted.Load() < enough || gaveUp.Load() < enough {
		t.Errorf("%d were granted a lock, %d gave up: this shows little", granted.Load(), gaveUp.Load())
	}
	awaitNothing(t, s, patience)
}
