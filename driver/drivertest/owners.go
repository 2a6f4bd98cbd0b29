package drivertest

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// Engines that release owners by themselves continue with other owners, or let the core do so.
var owners = []check{
	{"GrantedOwnerRenewsAndReleases", grantedOwner},
	{"SpentOwnersHurtNobody", spentOwners},
}

// grantedOwner continues with the owner that the grant names, as the core does, after a Take and
// after a Wait.
func grantedOwner(e *env) {
	a, b := e.open(), e.open()
	taken := e.mustHold(a, e.lock("name"))
	w := e.join(b, e.lock("name"))
	e.mustRenew(a, taken.request, e.long)
	w.checkWaiting()
	e.release(a, taken.request)
	g := w.mustBeGranted()
	waited := holding{b, w.request, g}
	waited.request.Owner = cmp.Or(g.Owner, w.request.Owner)
	e.checkHarmless("a renewal", e.renew(a, taken.request, e.long))
	e.checkUntouched(waited)
}

// spentOwners lets many calls compete for one name. A call whose owner is spent continues with
// another one at the same place. Each holder releases the latest spent owner again, and the last
// holder all of them.
func spentOwners(e *env) {
	one := overlapChecker{env: e}
	var old spentRequests
	e.runManyOwners(func(_ int, engine driver.Engine) {
		r := e.requestAt("name", "")
		for range stressTurns {
			g, err := engine.Take(e.ctx, r)
			switch {
			case err == nil:
				r.Owner = cmp.Or(g.Owner, r.Owner)
				old.release(e, engine, 4)
				one.check(g)
				if err := e.renew(engine, r, e.long); err != nil {
					e.Errorf("Renew by the holder: %v", err)
				}
				if err := engine.Release(e.ctx, releaseAt(r)); err != nil {
					e.Errorf("Release by the holder: %v", err)
				}
				r = e.requestAt("name", "")
			case driver.IsSpent(err):
				old.add(r)
				r = e.requestAt("name", r.Place)
			case !errors.Is(err, driver.ErrHeld):
				e.Errorf("Take: %v", err)
				return
			}
		}
	})
	engine := e.open()
	old.release(e, engine, len(old.requests))
	e.takeTurn(engine, e.lock("name"), func(g driver.Grant) {
		one.check(g)
		old.release(e, engine, len(old.requests))
		e.mustBeRefused(engine, e.lock("name"))
	})
}

// spentRequests are the requests whose owners are spent.
type spentRequests struct {
	mu       sync.Mutex
	requests []driver.Request
}

func (s *spentRequests) add(r driver.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// release releases the latest of them.
func (s *spentRequests) release(e *env, engine driver.Engine, most int) {
	s.mu.Lock()
	last := slices.Clone(s.requests[max(0, len(s.requests)-most):])
	s.mu.Unlock()
	for _, r := range last {
		if err := engine.Release(e.ctx, releaseAt(r)); err != nil && !errors.Is(err, driver.ErrNotHeld) {
			e.Errorf("Release of a spent owner: %v", err)
		}
	}
}
