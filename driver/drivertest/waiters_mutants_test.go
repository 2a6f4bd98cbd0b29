package drivertest_test

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// waiterMutants turn the wrong owners away, or nobody.
var waiterMutants = []mutant{
	{"lets everybody wait", "Waiters/NoMoreThanTheLimit", requests(func(r *driver.Request) { r.MaxWaiters = 0 })},
	{"lets one waiter too many join", "Waiters/NoMoreThanTheLimit", requests(oneTooMany)},
	{"turns waiters away", "Waiters/WaiterKeepsItsPlace", turnsWaitersAway},
	{"turns the holder away", "Waiters/FreeNameIsGranted", turnsWaitersAway},
	{"queues owners that it turns away", "Waiters/TurnedAwayLeavesNothing", queuesTurnedAway},
	{"turns away in Wait", "Waiters/WaitIsNeverTurnedAway", turnsAwayInWait},
}

func oneTooMany(r *driver.Request) {
	if r.MaxWaiters > 0 {
		r.MaxWaiters++
	}
}

func turnsWaitersAway(e *memory.Engine) driver.Engine { return forgetsWhoWaits{e} }

func queuesTurnedAway(e *memory.Engine) driver.Engine { return queuesAll{e} }

func turnsAwayInWait(e *memory.Engine) driver.Engine { return turnsAwayLate{e} }

// forgetsWhoWaits compares the number of waiters with the limit even for an owner that waits or
// holds.
type forgetsWhoWaits struct{ *memory.Engine }

func (f forgetsWhoWaits) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	found, err := f.List(ctx, driver.Query{Kind: r.Kind, Name: r.Name})
	if err != nil {
		return driver.Grant{}, err
	}
	if len(found) > 0 && r.MaxWaiters > 0 && found[0].Waiting >= r.MaxWaiters {
		return driver.Grant{}, driver.ErrTooManyWaiters
	}
	return f.Engine.Take(ctx, r)
}

// queuesAll queues owners that it has turned away.
type queuesAll struct{ *memory.Engine }

func (q queuesAll) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := q.Engine.Take(ctx, r)
	if errors.Is(err, driver.ErrTooManyWaiters) {
		r.MaxWaiters = 0
		_, _ = q.Engine.Take(ctx, r)
	}
	return g, err
}

// turnsAwayLate also turns owners away in Wait.
type turnsAwayLate struct{ *memory.Engine }

func (s turnsAwayLate) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join = true
	if g, err := s.Take(ctx, r); !errors.Is(err, driver.ErrHeld) {
		return g, err
	}
	return s.Engine.Wait(ctx, r)
}
