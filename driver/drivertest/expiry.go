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
	{"ExpiredOwnerHoldsNoMore", expiredOwnerHoldsNoMore},
	{"RenewDoesNotBringBack", renewDoesNotBringBack},
}

func leaseEnds(e *env) {
	a, b := e.open(), e.open()
	e.take(a, e.withShortTTL(e.lock("name")))
	e.expireShortLeases()
	e.take(b, e.lock("name"))
	e.mustBeRefused(a, e.lock("name"))
}

func leaseOfAWaiterEnds(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.withShortTTL(e.lock("name")))
	e.release(a, r)
	w.mustBeGranted()
	e.expireShortLeases()
	e.take(a, e.lock("name"))
}

func leaseLastsFromTake(e *env) {
	a, b := e.open(), e.open()
	start := driver.Now()
	e.take(a, e.withShortTTL(e.lock("name")))
	e.lastsFrom(start, e.short, b)
}

func leaseLastsFromGrant(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.withShortTTL(e.lock("name")))
	e.expireShortLeases() // the time in the queue does not count
	e.release(a, r)
	g := w.mustBeGranted()
	if ago := driver.Now().Since(g.Start); ago < 0 {
		e.Errorf("Grant.Start is %v in the future", -ago)
	}
	ttl := e.short
	if g.TTL > 0 {
		ttl = g.TTL
	}
	e.lastsFrom(g.Start, ttl, a)
}

// lastsFrom checks that nobody else is granted "name" before the lease has ended.
func (e *env) lastsFrom(start driver.Instant, ttl time.Duration, other driver.Engine) {
	e.Helper()
	if e.environment.Advance != nil {
		e.mustBeRefused(other, e.lock("name"))
		e.pass(ttl - time.Millisecond)
		e.mustBeRefused(other, e.lock("name"))
		return
	}
	e.eventually("the lease ends", func() bool {
		_, err := other.Take(e.ctx, e.lock("name"))
		if err != nil && !errors.Is(err, driver.ErrHeld) {
			e.Fatalf("Take: %v", err)
		}
		return err == nil
	})
	// Leasehold's promise allows for this drift.
	shortest := ttl - ttl/100 - 2*time.Millisecond
	if lasted := driver.Now().Since(start); lasted < shortest {
		e.Errorf("another holds %v after the start of a lease of %v", lasted, ttl)
	}
}

func expiredOwnerHoldsNoMore(e *env) {
	a, b := e.open(), e.open()
	r := e.withShortTTL(e.lock("name"))
	e.take(a, r)
	e.expireShortLeases()
	next := e.lock("name")
	e.take(b, next)
	e.checkLost(a, r)
	e.checkNotHeld(a, r)
	if e.can.Shared {
		if err := a.Downgrade(e.ctx, holdOf(r)); !errors.Is(err, driver.ErrNotHeld) {
			e.Errorf("Downgrade of an expired lease: %v, want ErrNotHeld", err)
		}
	}
	e.mustRenew(b, next, e.long)
}

func renewDoesNotBringBack(e *env) {
	a, b := e.open(), e.open()
	r := e.withShortTTL(e.lock("expired"))
	e.take(a, r)
	e.expireShortLeases()
	e.checkLost(a, r) // although nobody else has asked
	e.checkFree(b, r)

	r = e.lock("released")
	e.take(a, r)
	e.release(a, r)
	e.checkLost(a, r)
	e.checkFree(b, r)
}
