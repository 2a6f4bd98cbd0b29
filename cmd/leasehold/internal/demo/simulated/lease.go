package simulated

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
)

// lease is what an owner holds on most of the servers.
type lease struct {
	*client
	owner            string
	grantedSomewhere bool // some server has granted it
	token            uint64
	deadline         time.Duration
	ended            bool
}

// eachServer calls a function for all servers that the client can reach.
func (a *lease) eachServer(f func(i int, s *server)) {
	for i := range a.servers {
		if s, ok := a.server(i); ok {
			f(i, s)
		}
	}
}

func (a *lease) isMajority(n int) bool { return n > len(a.servers)/2 }

func (a *lease) hold() driver.Hold { return driver.Hold{Key: lockKey, Owner: a.owner} }

// Token implements [scenario.Lease].
func (a *lease) Token() uint64 { return a.token }

// IsOver implements [scenario.Lease].
func (a *lease) IsOver() bool { return a.ended || a.now >= a.deadline }

// LostEvent implements [scenario.Lease].
func (a *lease) LostEvent() scenario.Event { return scenario.EventOf(a.owner, "is lost") }

// keepRenewed renews the lease in the background until it has ended, and signals its loss.
func (a *lease) keepRenewed() {
	for {
		a.Sleep(min(a.ttl/3, a.deadline-a.now))
		a.waitUntilRunning()
		if a.ended || a.dead {
			return
		}
		sent := a.now
		a.delayMessage()
		yes, no := 0, 0
		a.eachServer(func(_ int, s *server) {
			s.engine.Renew(context.Background(), []driver.Renewal{{Hold: a.hold(), TTL: a.ttl}},
				func(_ int, err error) {
					switch {
					case err == nil:
						yes++
					case errors.Is(err, driver.ErrNotHeld):
						no++
					}
				})
		})
		a.delayMessage()
		a.waitUntilRunning()
		if a.ended || a.dead {
			return
		}
		if a.isMajority(yes) {
			a.deadline = max(a.deadline, sent+validity(a.ttl))
		}
		if a.isMajority(no) || a.now >= a.deadline {
			a.ended = true
			a.Signal(a.LostEvent())
			return
		}
	}
}

// Release implements [scenario.Lease].
func (a *lease) Release() (remark string) {
	lost := a.IsOver()
	a.ended = true
	a.delayMessage()
	if a.undo(); lost {
		return "the lease was over: nothing is released"
	}
	return ""
}

// undo releases the lock on all servers, for this owner only.
func (a *lease) undo() {
	if !a.grantedSomewhere {
		return
	}
	a.eachServer(func(_ int, s *server) {
		_ = s.engine.Release(context.Background(), driver.Release{Hold: a.hold()}) // a "no" is as good
	})
	a.delayMessage()
}
