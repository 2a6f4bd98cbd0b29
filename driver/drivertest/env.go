package drivertest

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// env is what a check works with.
type env struct {
	*testing.T
	place    Place
	can      driver.Abilities
	ctx      context.Context // ends when something takes far too long
	patience time.Duration
	known    []string

	short time.Duration // a lease that ends while the check looks
	late  time.Duration // by how much at most its end is noticed late
	long  time.Duration // a lease that does not

	// prefix begins all names of the check, so that checks can share a server.
	prefix string
}

func newEnv(t *testing.T, h Harness) *env {
	t.Helper()
	e := &env{T: t, place: h.Start(t), patience: h.Patience, known: h.Known, short: h.TTL, late: h.Late, prefix: "test-" + rand.Text() + "/"}
	e.afresh()
	e.can = e.open().Abilities()
	e.long = 10 * time.Minute
	if e.can.MaxTTL > 0 {
		e.long = min(e.long, e.can.MaxTTL)
	}
	return e
}

// afresh gives the check its whole time again, after one of many steps: how long all of them take together says how busy the machine is, and no more.
func (e *env) afresh() {
	ctx, cancel := context.WithTimeout(e.Context(), 4*e.patience)
	e.Cleanup(cancel)
	e.ctx = ctx
}

// open opens another engine, as another process would. It is connected then: on a busy machine that alone may take as long as a short lease.
func (e *env) open() driver.Engine {
	e.Helper()
	engine := e.place.Open(e.T)
	if e.place.Advance == nil {
		_ = e.renew(engine, e.lock("name"), time.Second) // which is of nobody's; what it answers does not matter
	}
	return engine
}

// needs skips the check if the engine cannot do something.
func (e *env) needs(ability bool, what string) {
	e.Helper()
	if !ability {
		e.Skipf("the engine %q has no %s", e.can.Name, what)
	}
}

// lock asks for a lock, by a new owner.
func (e *env) lock(name string) driver.Request {
	return driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: e.prefix + name},
		Owner:  rand.Text(),
		Size:   1,
		Weight: 1,
		TTL:    e.long,
		Tokens: 1,
		Holder: "drivertest",
	}
}

// reader asks for a lock in shared mode, by a new owner.
func (e *env) reader(name string) driver.Request {
	r := e.lock(name)
	r.Mode = driver.Shared
	return r
}

// permits asks for some of the permits of a semaphore, by a new owner.
func (e *env) permits(name string, size, weight int) driver.Request {
	r := e.lock(name)
	r.Kind = driver.Semaphore
	r.Size, r.Weight = size, weight
	return r
}

// briefly makes a lease short.
func (e *env) briefly(r driver.Request) driver.Request {
	r.TTL = e.short
	return r
}

// hold names what the owner of the request holds, as the core does that never learned the token.
func hold(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

// take takes what must be free.
func (e *env) take(engine driver.Engine, r driver.Request) driver.Grant {
	e.Helper()
	g, err := engine.Take(e.ctx, r)
	if err != nil {
		e.Fatalf("Take of a free %s: %v", r.Kind, err)
	}
	e.checkGrant(r, g)
	return g
}

func (e *env) checkGrant(r driver.Request, g driver.Grant) {
	e.Helper()
	if g.Token == 0 || g.Token > driver.MaxToken {
		e.Errorf("token %d is not between 1 and MaxToken", g.Token)
	}
	if g.Tokens < 0 || g.Tokens > r.Tokens {
		e.Errorf("%d tokens granted, %d asked for", g.Tokens, r.Tokens)
	}
}

// refused asks for what must be held.
func (e *env) refused(engine driver.Engine, r driver.Request) {
	e.Helper()
	if g, err := engine.Take(e.ctx, r); !errors.Is(err, driver.ErrHeld) {
		e.Fatalf("Take of what another holds answered token %d, %v; want ErrHeld", g.Token, err)
	}
}

// release releases what the owner must hold.
func (e *env) release(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := engine.Release(e.ctx, driver.Release{Hold: hold(r)}); err != nil {
		e.Fatalf("Release by the holder: %v", err)
	}
}

// forgotten releases what the owner must not hold.
func (e *env) forgotten(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := engine.Release(e.ctx, driver.Release{Hold: hold(r)}); !errors.Is(err, driver.ErrNotHeld) {
		e.Fatalf("Release by one who does not hold answered %v, want ErrNotHeld", err)
	}
}

// renew renews one lease to the TTL, and returns what was reported.
func (e *env) renew(engine driver.Engine, r driver.Request, ttl time.Duration) error {
	e.Helper()
	return e.renewAll(engine, []driver.Renewal{{Hold: hold(r), TTL: ttl}})[0]
}

// renewed renews a lease that must be held.
func (e *env) renewed(engine driver.Engine, r driver.Request, ttl time.Duration) {
	e.Helper()
	if err := e.renew(engine, r, ttl); err != nil {
		e.Fatalf("Renew by the holder: %v", err)
	}
}

// lost renews a lease that must be gone.
func (e *env) lost(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := e.renew(engine, r, e.long); !errors.Is(err, driver.ErrNotHeld) {
		e.Fatalf("Renew by one who does not hold reported %v, want ErrNotHeld", err)
	}
}

// free checks that nothing is held and nobody waits, by taking and releasing it.
func (e *env) free(engine driver.Engine, r driver.Request) {
	e.Helper()
	e.release(engine, e.holds(engine, e.anew(r)).request)
}

// pass lets time pass on the engine's clock.
func (e *env) pass(d time.Duration) {
	e.Helper()
	if e.place.Advance != nil {
		e.place.Advance(d)
		return
	}
	e.pause(d)
}

// pause lets real time pass: it is what is tested on a clock that cannot be moved.
func (e *env) pause(d time.Duration) {
	e.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.ctx.Done():
		e.Fatal("the test takes too long")
	}
}

// lapse lets short leases end.
func (e *env) lapse() {
	e.Helper()
	e.pass(e.short + e.late + 10*time.Millisecond)
}

// eventually waits until the condition is true.
func (e *env) eventually(what string, condition func() bool) {
	e.Helper()
	for began := time.Now(); !condition(); e.pause(time.Millisecond) {
		if time.Since(began) > e.patience {
			e.Fatalf("after %v still not: %s", e.patience, what)
		}
	}
}
