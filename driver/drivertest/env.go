package drivertest

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// env is the test environment of one check.
type env struct {
	*testing.T
	environment Environment
	can         driver.Abilities
	hasLatches  bool
	ctx         context.Context // ends when the check takes far too long
	patience    time.Duration
	expected    []string // codes of findings, see Harness.KnownFindings
	refuses     func(name string) bool

	short time.Duration // a lease that ends during the check
	delay time.Duration // see Harness.ExpiryDelay
	long  time.Duration // a lease that does not end during the check

	// prefix begins all names of the check, so that checks can share a server.
	prefix string
}

func newEnv(t *testing.T, h Harness) *env {
	t.Helper()
	e := &env{T: t, environment: h.Start(t), patience: h.Patience, short: h.TTL,
		expected: h.KnownFindings, delay: h.ExpiryDelay, prefix: "test-" + rand.Text() + "/", refuses: h.Refuses}
	if e.refuses == nil {
		e.refuses = func(string) bool { return false }
	}
	e.resetDeadline()
	engine := e.open()
	e.can = engine.Abilities()
	_, e.hasLatches = engine.(driver.Latcher)
	e.long = 10 * time.Minute
	if e.can.MaxTTL > 0 {
		e.long = min(e.long, e.can.MaxTTL)
	}
	return e
}

// resetDeadline gives the check its full time again, after one of many steps: the total time of all
// steps only shows how busy the machine is.
func (e *env) resetDeadline() {
	ctx, cancel := context.WithTimeout(e.Context(), 4*e.patience)
	e.Cleanup(cancel)
	e.ctx = ctx
}

// open opens another engine, as another process would, and makes it connect: on a busy machine
// connecting alone may take as long as a short lease.
func (e *env) open() driver.Engine {
	e.Helper()
	engine := e.environment.Open(e.T)
	if e.environment.Advance == nil {
		_ = e.renew(engine, e.lock("name"), time.Second) // a renewal for nobody; its answer does not matter
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

// operator opens an engine as an Operator. It skips the check if the engine cannot do what try asks for.
func (e *env) operator(what string, try func(driver.Operator) error) driver.Operator {
	e.Helper()
	o := driver.OperatorOf(e.open())
	e.needs(!errors.Is(try(o), driver.ErrUnsupported), what)
	return o
}

// lock returns a request for a lock, by a new owner.
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

// reader returns a request for a lock in shared mode, by a new owner.
func (e *env) reader(name string) driver.Request {
	r := e.lock(name)
	r.Mode = driver.Shared
	return r
}

// permits returns a request for permits of a semaphore, by a new owner.
func (e *env) permits(name string, size, weight int) driver.Request {
	r := e.lock(name)
	r.Kind = driver.Semaphore
	r.Size, r.Weight = size, weight
	return r
}

// withShortTTL returns the request with a short lease.
func (e *env) withShortTTL(r driver.Request) driver.Request {
	r.TTL = e.short
	return r
}

// holdOf identifies the hold of the request's owner, as a core that never learned the token does.
func holdOf(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

// take takes a name that must be free.
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

// mustBeRefused asks for a name that must be held.
func (e *env) mustBeRefused(engine driver.Engine, r driver.Request) {
	e.Helper()
	if g, err := engine.Take(e.ctx, r); !errors.Is(err, driver.ErrHeld) {
		e.Fatalf("Take of a held name answered token %d, %v; want ErrHeld", g.Token, err)
	}
}

// release releases a hold that must exist.
func (e *env) release(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := engine.Release(e.ctx, driver.Release{Hold: holdOf(r)}); err != nil {
		e.Fatalf("Release by the holder: %v", err)
	}
}

// checkNotHeld releases an owner that must not hold.
func (e *env) checkNotHeld(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := engine.Release(e.ctx, driver.Release{Hold: holdOf(r)}); !errors.Is(err, driver.ErrNotHeld) {
		e.Fatalf("Release by an owner that does not hold answered %v, want ErrNotHeld", err)
	}
}

// renew renews one lease to the TTL, and returns what was reported.
func (e *env) renew(engine driver.Engine, r driver.Request, ttl time.Duration) error {
	e.Helper()
	return e.renewAll(engine, []driver.Renewal{{Hold: holdOf(r), TTL: ttl}})[0]
}

// mustRenew renews a lease that must be held.
func (e *env) mustRenew(engine driver.Engine, r driver.Request, ttl time.Duration) {
	e.Helper()
	if err := e.renew(engine, r, ttl); err != nil {
		e.Fatalf("Renew by the holder: %v", err)
	}
}

// checkLost renews a lease that must have ended.
func (e *env) checkLost(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := e.renew(engine, r, e.long); !errors.Is(err, driver.ErrNotHeld) {
		e.Fatalf("Renew by an owner that does not hold reported %v, want ErrNotHeld", err)
	}
}

// checkFree checks that nobody holds or waits, by taking and releasing the name.
func (e *env) checkFree(engine driver.Engine, r driver.Request) {
	e.Helper()
	e.release(engine, e.mustHold(engine, e.byNewOwner(r)).request)
}

// pass lets time pass on the engine's clock.
func (e *env) pass(d time.Duration) {
	e.Helper()
	if e.environment.Advance != nil {
		e.environment.Advance(d)
		return
	}
	e.pause(d)
}

// pause lets real time pass, since the engine's clock cannot be moved.
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

// expireShortLeases lets short leases end.
func (e *env) expireShortLeases() {
	e.Helper()
	e.pass(e.short + e.delay + 10*time.Millisecond)
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
