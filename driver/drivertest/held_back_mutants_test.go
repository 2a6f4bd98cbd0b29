package drivertest_test

import (
	"cmp"
	"context"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// heldBackMutants are engines on which a request that was held back does harm.
var heldBackMutants = []mutant{
	{"releases any holder", "HeldBack/ReleaseHurtsNoHolder", releasesAny},
	{"releases any holder of the place", "HeldBack/ReleaseHurtsNoOwnerOfTheSamePlace", byPlace()},
	{"releases any waiter of the place", "HeldBack/ReleaseHurtsNoWaiter", byPlace()},
	{"brings back in a late Renew", "HeldBack/RenewalBringsNothingBack", renewsAny},
	{"downgrades any holder", "HeldBack/DowngradeHurtsNoHolder", downgradesAll()},
	{"forces a later holder", "HeldBack/ForceReleaseHurtsNoHolder", forcesAny},
	{"takes a held name late", "HeldBack/TakeHurtsNoHolder", remembers(takesFromTheHolder)},
	{"releases an owner once", "HeldBack/TakeIsCleanedByOneMoreRelease", remembers(releasesOnce)},
	{"releases a waiter once", "HeldBack/JoinIsCleanedByOneMoreRelease", remembers(releasesOnce)},
	{"confuses a place with its owner", "HeldBack/JoinHurtsNoOwnerOfTheSamePlace", ownerIsPlace},
}

func releasesAny(e *memory.Engine) driver.Engine { return plainDelete{e} }

func renewsAny(e *memory.Engine) driver.Engine { return bringsBack{e} }

func forcesAny(e *memory.Engine) driver.Engine { return forcesAll{e} }

func ownerIsPlace(e *memory.Engine) driver.Engine { return placeIsOwner{e} }

// calls knows the latest owner of each call, and the released owners.
type calls struct {
	*memory.Engine
	latest   *sync.Map // by place
	released *sync.Map
}

func newCalls() func(*memory.Engine) calls {
	var latest, released sync.Map
	return func(e *memory.Engine) calls { return calls{e, &latest, &released} }
}

// releasesByPlace releases the latest owner at a place instead of the named one.
type releasesByPlace struct{ calls }

func byPlace() func(*memory.Engine) driver.Engine {
	known := newCalls()
	return func(e *memory.Engine) driver.Engine { return releasesByPlace{known(e)} }
}

func (p releasesByPlace) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	p.latest.Store(cmp.Or(r.Place, r.Owner), r.Owner)
	return p.Engine.Take(ctx, r)
}

func (p releasesByPlace) Release(ctx context.Context, r driver.Release) error {
	if owner, ok := p.latest.Load(cmp.Or(r.Place, r.Owner)); ok {
		r.Owner = owner.(string)
	}
	return p.Engine.Release(ctx, r)
}

// placeIsOwner uses one owner for each call.
type placeIsOwner struct{ *memory.Engine }

func (p placeIsOwner) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Owner = cmp.Or(r.Place, r.Owner)
	return p.Engine.Take(ctx, r)
}

func (p placeIsOwner) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Owner = cmp.Or(r.Place, r.Owner)
	g, err := p.Engine.Wait(ctx, r)
	g.Owner = r.Owner
	return g, err
}

func (p placeIsOwner) Release(ctx context.Context, r driver.Release) error {
	r.Owner = cmp.Or(r.Place, r.Owner)
	return p.Engine.Release(ctx, r)
}

// downgradesHolder downgrades the latest owner of a name.
type downgradesHolder struct{ calls }

func downgradesAll() func(*memory.Engine) driver.Engine {
	known := newCalls()
	return func(e *memory.Engine) driver.Engine { return downgradesHolder{known(e)} }
}

func (d downgradesHolder) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := d.Engine.Take(ctx, r)
	if err == nil {
		d.latest.Store(r.Key, r.Owner)
	}
	return g, err
}

func (d downgradesHolder) Downgrade(ctx context.Context, h driver.Hold) error {
	if owner, ok := d.latest.Load(h.Key); ok {
		h.Owner = owner.(string)
	}
	return d.Engine.Downgrade(ctx, h)
}

// remembering treats released owners in a special way.
type remembering struct {
	calls
	way way
}

type way int

const (
	takesFromTheHolder way = iota // for released owners
	releasesOnce                  // and never a second time
)

func remembers(w way) func(*memory.Engine) driver.Engine {
	known := newCalls()
	return func(e *memory.Engine) driver.Engine { return remembering{known(e), w} }
}

func (m remembering) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if _, late := m.released.Load(r.Owner); late && m.way == takesFromTheHolder {
		_ = forcesAll{m.Engine}.ForceRelease(ctx, r.Key, 0)
	}
	return m.Engine.Take(ctx, r)
}

func (m remembering) Release(ctx context.Context, r driver.Release) error {
	if _, again := m.released.LoadOrStore(r.Owner, true); again && m.way == releasesOnce {
		return driver.ErrNotHeld
	}
	return m.Engine.Release(ctx, r)
}
