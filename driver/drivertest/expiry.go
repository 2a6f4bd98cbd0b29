package drivertest

import (
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

var expiry = []check{
	{"LeaseEnds", leaseEnds},
	{"LeaseOfAWaiterEnds", leaseOfAWaiterEnds},
	{"LeaseLastsFromTake", leaseLastsFromTake},
	{"LeaseLastsFromGrant", leaseLastsFromGrant},
	{"LapsedOwnerHoldsNoMore", lapsedOwnerHoldsNoMore},
	{"RenewDoesNotBringBack", renewDoesNotBringBack},
}

func leaseEnds(e *env) {
	a, b := e.open(), e.open()
	e.take(a, e.briefly(e.lock("name")))
	e.lapse()
	e.take(b, e.lock("name"))
	e.refused(a, e.lock("name"))
}

func leaseOfAWaiterEnds(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.briefly(e.lock("name")))
	e.release(a, r)
	w.granted()
	e.lapse()
	e.take(a, e.lock("name"))
}

func leaseLastsFromTake(e *env) {
	a, b := e.open(), e.open()
	start := driver.Now()
	e.take(a, e.briefly(e.lock("name")))
	e.lastsFrom(start, e.short, b)
}

func leaseLastsFromGrant(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.briefly(e.lock("name")))
	e.lapse() // the time in the queue does not count
	e.release(a, r)
	g := w.granted()
	if ago := driver.Now().Since(g.Start); ago < 0 {
		e.Errorf("Grant.Start is %v in the future", -ago)
	}
	ttl := e.short
	if g.TTL > 0 {
		ttl = g.TTL
	}
	e.lastsFrom(g.Start, ttl, a)
}

// lastsFrom checks that nobody else is let in before the lease of "name" has lasted.
func (e *env) lastsFrom(start driver.Instant, ttl time.Duration, other driver.Engine) {
	e.Helper()
	if e.place.Advance != nil {
		e.refused(other, e.lock("name"))
		e.pass(ttl - time.Millisecond)
		e.refused(other, e.lock("name"))
		return
	}
	e.eventually("the lease ends", func() bool {
		_, err := other.Take(e.ctx, e.lock("name"))
		if err != nil && !errors.Is(err, driver.ErrHeld) {
			e.Fatalf("Take: %v", err)
		}
		return err == nil
	})
	// The drift that leasehold's promise allows for.
	least := ttl - ttl/100 - 2*time.Millisecond
	if lasted := driver.Now().Since(start); lasted < least {
		e.Errorf("another holds %v after the start of a lease of %v", lasted, ttl)
	}
}

func lapsedOwnerHoldsNoMore(e *env) {
	a, b := e.open(), e.open()
	r := e.briefly(e.lock("name"))
	e.take(a, r)
	e.lapse()
	next := e.lock("name")
	e.take(b, next)
	e.lost(a, r)
	e.forgotten(a, r)
	if e.can.Shared {
		if err := a.(driver.Downgrader).Downgrade(e.ctx, hold(r)); !errors.Is(err, driver.ErrNotHeld) {
			e.Errorf("Downgrade of a lapsed lease: %v, want ErrNotHeld", err)
		}
	}
	e.renewed(b, next, e.long)
}

func renewDoesNotBringBack(e *env) {
	a, b := e.open(), e.open()
	r := e.briefly(e.lock("lapsed"))
	e.take(a, r)
	e.lapse()
	e.lost(a, r) // although nobody else has come
	e.free(b, r)

	r = e.lock("released")
	e.take(a, r)
	e.release(a, r)
	e.lost(a, r)
	e.free(b, r)
}
