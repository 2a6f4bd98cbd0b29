package virtual

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
)

// lease is what an owner has on most of the servers.
type lease struct {
	*client
	owner    string
	touched  bool // some server has granted it
	token    uint64
	deadline time.Duration
	ended    bool
}

// each calls a function for all servers that can be reached.
func (a *lease) each(f func(i int, s *server)) {
	for i := range a.servers {
		if s, ok := a.server(i); ok {
			f(i, s)
		}
	}
}

func (a *lease) majority(n int) bool { return n > len(a.servers)/2 }

func (a *lease) hold() driver.Hold { return driver.Hold{Key: lockKey, Owner: a.owner} }

// Token implements [stage.Lease].
func (a *lease) Token() uint64 { return a.token }

// Over implements [stage.Lease].
func (a *lease) Over() bool { return a.ended || a.now >= a.deadline }

// Lost implements [stage.Lease].
func (a *lease) Lost() stage.Moment { return stage.At(a.owner, "is lost") }

// renew goes on in the background until the lease has ended: it renews it, and tells the client when it is lost.
func (a *lease) renew() {
	for {
		a.Sleep(min(a.ttl/3, a.deadline-a.now))
		a.awake()
		if a.ended || a.dead {
			return
		}
		sent := a.now
		a.hop()
		yes, no := 0, 0
		a.each(func(_ int, s *server) {
			s.engine.Renew(context.Background(), []driver.Renewal{{Hold: a.hold(), TTL: a.ttl}}, func(_ int, err error) {
				switch {
				case err == nil:
					yes++
				case errors.Is(err, driver.ErrNotHeld):
					no++
				}
			})
		})
		a.hop()
		a.awake()
		if a.ended || a.dead {
			return
		}
		if a.majority(yes) {
			a.deadline = max(a.deadline, sent+valid(a.ttl))
		}
		if a.majority(no) || a.now >= a.deadline {
			a.ended = true
			a.Fire(a.Lost())
			return
		}
	}
}

// Release implements [stage.Lease].
func (a *lease) Release() (remark string) {
	lost := a.Over()
	a.ended = true
	a.hop()
	if a.drop(); lost {
		return "the lease was over: nothing is released"
	}
	return ""
}

// drop takes back on all servers what the owner has there, and touches nothing else.
func (a *lease) drop() {
	if !a.touched {
		return
	}
	a.each(func(_ int, s *server) {
		_ = s.engine.Release(context.Background(), driver.Release{Hold: a.hold()}) // a "no" is as good
	})
	a.hop()
}
