package drivertest_test

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// crowds are engines that send the wrong ones away, or nobody.
var crowds = []animal{
	{"lets everybody wait", "Waiters/NoMoreThanTheLimit", requests(func(r *driver.Request) { r.Waiters = 0 })},
	{"lets one too many wait", "Waiters/NoMoreThanTheLimit", requests(oneTooMany)},
	{"sends those away who wait", "Waiters/WhoWaitsKeepsThePlace", sendsAllAway},
	{"sends away who holds", "Waiters/WhatIsFreeIsGranted", sendsAllAway},
	{"queues those whom it sends away", "Waiters/WhoIsSentAwayLeavesNothing", queuesThem},
	{"sends away in Wait", "Waiters/WaitIsNeverSentAway", sendsAwayInWait},
}

func oneTooMany(r *driver.Request) {
	if r.Waiters > 0 {
		r.Waiters++
	}
}

func sendsAllAway(e *memory.Engine) driver.Engine { return forgetsWhoWaits{e} }

func queuesThem(e *memory.Engine) driver.Engine { return queuesAll{e} }

func sendsAwayInWait(e *memory.Engine) driver.Engine { return sendsAwayLate{e} }

// forgetsWhoWaits counts those who wait, whoever asks.
type forgetsWhoWaits struct{ *memory.Engine }

func (f forgetsWhoWaits) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	found, err := f.List(ctx, driver.Query{Kind: r.Kind, Name: r.Name})
	if err != nil {
		return driver.Grant{}, err
	}
	if len(found) > 0 && r.Waiters > 0 && found[0].Waiting >= r.Waiters {
		return driver.Grant{}, driver.ErrCrowded
	}
	return f.Engine.Take(ctx, r)
}

// queuesAll queues whom it has sent away.
type queuesAll struct{ *memory.Engine }

func (q queuesAll) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := q.Engine.Take(ctx, r)
	if errors.Is(err, driver.ErrCrowded) {
		r.Waiters = 0
		_, _ = q.Engine.Take(ctx, r)
	}
	return g, err
}

// sendsAwayLate does so in Wait, too.
type sendsAwayLate struct{ *memory.Engine }

func (s sendsAwayLate) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join = true
	if g, err := s.Take(ctx, r); !errors.Is(err, driver.ErrHeld) {
		return g, err
	}
	return s.Engine.Wait(ctx, r)
}
