//go:build redisson

package redisson

import (
	"fmt"
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// unlockLosses are what becomes of an unlock in Java that is lost, or whose reply is.
var unlockLosses = []struct {
	mode   string
	action redisserver.Action
	fails  bool // the call in Java
	keeps  bool // the lock is held until its lease ends, as nobody renews it
}{
	{mode: "replicated", action: redisserver.CutBefore},
	{mode: "replicated", action: redisserver.CutAfter},
	{mode: "single", action: redisserver.CutBefore, fails: true, keeps: true},
	{mode: "single", action: redisserver.CutAfter, fails: true},
}

// An unlock in Java that is sent again counts once: it frees nothing of a holder in Go that has the lock since. If it
// is not sent again, and had no effect, Go has the lock when its lease ends.
func TestUnlocksOfJavaThatAreLost(t *testing.T) {
	for _, version := range beside {
		for _, loss := range unlockLosses {
			t.Run(fmt.Sprint(version, "/", loss.mode, loss.action), func(t *testing.T) {
				t.Parallel()
				l := newLossy(t, version, loss.mode)
				var waiting sync.WaitGroup
				for _, kind := range lossyKinds {
					if kind == "spin" && !loss.keeps {
						continue // its unlock notifies nobody
					}
					p := l.newPair(kind)
					p.a.mustTry(true)
					p.held = p.b.lock()
					if kind != "spin" {
						awaitSubscriber(t, []*redisserver.Server{l.server}, "CHANNELS", channelOf(p.b.kind, p.b.name))
					}
					l.lose("unlock", p.a.name, loss.action)
					_, err := p.a.call("unlock")
					if (err != nil) != loss.fails {
						t.Errorf("%s: the unlock in Java: %v", p.a.name, err)
					}
					l.mustBeLost()
					limit := woken
					if loss.keeps {
						mustNotHave(t, p.held)
						limit = 2 * lossyWatchdog // it asks when the lease that it knows would have ended
					}
					waiting.Go(func() {
						if err, came := comes(t, p.held, limit); err != nil || !came {
							t.Errorf("%s: the waiter has it: %v; %v", p.b.name, came, err)
							return
						}
						got, err := p.a.tryLock()
						if _, failed := p.b.call("unlock"); got != false || err != nil || failed != nil {
							t.Errorf("%s: tryLock in Java: %v, %v; unlock in Go: %v", p.b.name, got, err, failed)
						}
					})
				}
				waiting.Wait()
				mustBeLeftEmpty(t, l.server)
			})
		}
	}
}

// A permit of an RSemaphore that Java takes twice is gone, as nothing says who has it. A waiter in Go waits until
// somebody releases one more than was taken.
func TestPermitsThatJavaTakesTwice(t *testing.T) {
	t.Parallel()
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, version, "replicated")
			p := l.newPair("semaphore")
			p.b.must("trySetPermits", 2)
			l.lose("take", p.a.name, redisserver.CutAfter)
			p.a.mustTry(true)
			l.mustBeLost()
			p.b.mustTry(false)
			p.held = p.b.lock()
			awaitSubscriber(t, []*redisserver.Server{l.server}, "CHANNELS", channelOf("semaphore", p.b.name))
			mustNotHave(t, p.held)
			p.a.unlock()
			if err, came := comes(t, p.held, woken); err != nil || !came {
				t.Fatalf("the waiter has a permit: %v; %v", came, err)
			}
			p.b.mustTry(false) // the second permit
			p.b.must("addPermits", 1)
			p.a.mustTry(true)
			p.b.mustTry(false)
		})
	}
}
