package drivertest_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// ownerMutants mix up the owners of a call.
var ownerMutants = []mutant{
	{"names an owner that does not hold", "Owners/GrantedOwnerRenewsAndReleases", grants(nameAnybody)},
	{"lets a spent owner hold", "Owners/SpentOwnersHurtNobody", reusesSpent},
}

func nameAnybody(g *driver.Grant) { g.Owner = rand.Text() }

func reusesSpent(e *memory.Engine) driver.Engine { return spendsAndReuses{e} }

// spendsAndReuses reports the first owner of each call as spent, and takes for it when the next one
// asks.
type spendsAndReuses struct{ *memory.Engine }

func (s spendsAndReuses) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Place == r.Owner {
		return driver.Grant{}, driver.Spent(driver.NoEffect(errors.New("undone")))
	}
	r.Owner = cmp.Or(r.Place, r.Owner)
	g, err := s.Engine.Take(ctx, r)
	g.Owner = r.Owner
	return g, err
}

// ownOwners holds by an owner of its own, and undoes the first take of each call.
type ownOwners struct{ *memory.Engine }

func (o ownOwners) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Place == r.Owner && !r.Join {
		g, err := o.Engine.Take(ctx, r)
		if err != nil {
			return g, err
		}
		return driver.Grant{}, errors.Join(driver.Spent(errors.New("undone")), o.Release(ctx, driver.Release{
			Hold: driver.Hold{Key: r.Key, Owner: r.Owner},
		}))
	}
	r.Owner += " of the engine"
	g, err := o.Engine.Take(ctx, r)
	g.Owner = r.Owner
	return g, err
}

func (o ownOwners) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Owner += " of the engine"
	g, err := o.Engine.Wait(ctx, r)
	g.Owner = r.Owner
	return g, err
}

// The checks continue with the owner that a grant names, and with another one after a Spent.
func TestEngineWithOwnersOfItsOwn(t *testing.T) {
	t.Parallel()
	h := on(t, func(e *memory.Engine) driver.Engine { return ownOwners{e} })
	start := h.Start
	h.Start = func(t *testing.T) drivertest.Environment {
		if !strings.Contains(t.Name(), "/Owners/") {
			t.Skip("other checks use the owner of the request")
		}
		return start(t)
	}
	drivertest.Run(t, h)
}
