package drivertest

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// Engines that release by themselves go on with other owners, or let the core do so.
var owners = []check{
	{"GrantedOwnerRenewsAndReleases", grantedOwner},
	{"SpentOwnersHurtNobody", spentOwners},
}

// grantedOwner names the owner in the grant from then on, as the core does, after a Take and after a Wait.
func grantedOwner(e *env) {
	a, b := e.open(), e.open()
	taken := e.holds(a, e.lock("name"))
	w := e.join(b, e.lock("name"))
	e.renewed(a, taken.request, e.long)
	w.waits()
	e.release(a, taken.request)
	g := w.granted()
	waited := holding{b, w.request, g}
	waited.request.Owner = cmp.Or(g.Owner, w.request.Owner)
	e.harmless("a renewal", e.renew(a, taken.request, e.long))
	e.untouched(waited)
}

// spentOwners lets many calls try to get one name. A call that is told that its owner is spent goes on with another one
// at the same place. Whoever holds releases the latest of the old ones again, and the last holder all of them.
func spentOwners(e *env) {
	one := alone{env: e}
	var old spentRequests
	e.many(func(_ int, engine driver.Engine) {
		r := e.placed("name", "")
		for range stressTurns {
			g, err := engine.Take(e.ctx, r)
			switch {
			case err == nil:
				r.Owner = cmp.Or(g.Owner, r.Owner)
				old.release(e, engine, 4)
				one.visit(g)
				if err := e.renew(engine, r, e.long); err != nil {
					e.Errorf("Renew by the holder: %v", err)
				}
				if err := engine.Release(e.ctx, let(r)); err != nil {
					e.Errorf("Release by the holder: %v", err)
				}
				r = e.placed("name", "")
			case driver.IsSpent(err):
				old.add(r)
				r = e.placed("name", r.Place)
			case !errors.Is(err, driver.ErrHeld):
				e.Errorf("Take: %v", err)
				return
			}
		}
	})
	engine := e.open()
	old.release(e, engine, len(old.requests))
	e.turn(engine, e.lock("name"), func(g driver.Grant) {
		one.visit(g)
		old.release(e, engine, len(old.requests))
		e.refused(engine, e.lock("name"))
	})
}

// spentRequests are those of which the owners are spent.
type spentRequests struct {
	mu       sync.Mutex
	requests []driver.Request
}

func (s *spentRequests) add(r driver.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// release releases the last ones.
func (s *spentRequests) release(e *env, engine driver.Engine, most int) {
	s.mu.Lock()
	last := slices.Clone(s.requests[max(0, len(s.requests)-most):])
	s.mu.Unlock()
	for _, r := range last {
		if err := engine.Release(e.ctx, let(r)); err != nil && !errors.Is(err, driver.ErrNotHeld) {
			e.Errorf("Release of a spent owner: %v", err)
		}
	}
}
