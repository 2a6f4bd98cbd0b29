package redis

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// StartTake implements [driver.Starter].
func (e *Engine) StartTake(ctx context.Context, r driver.Request, done func(driver.Grant, error)) {
	wait := func() {
		g, err := byDeadline(ctx, func(ctx context.Context) (driver.Grant, error) { return e.Take(ctx, r) })
		done(g, err)
	}
	if r.Join || r.Tokens > 1 || !e.mayBeFree(r) || !e.place.single() || checkOwner(r.Owner) != nil {
		go wait()
		return
	}
	t, first := taking(r, e.names(r.Key))
	if first > driver.MaxToken {
		go wait()
		return
	}
	t.end, _ = ctx.Deadline()
	t.finish = func(answer any, err error) {
		g, err := e.tookFree(answer, err, first, r)
		if errors.Is(err, errAsk) {
			go wait()
			return
		}
		done(g, err)
	}
	e.couriers.send(&t)
}

// StartRelease implements [driver.Starter].
func (e *Engine) StartRelease(ctx context.Context, r driver.Release, done func(error)) {
	wait := func(release func(context.Context, driver.Release) error) {
		_, err := byDeadline(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, release(ctx, r) })
		done(err)
	}
	if !e.place.single() || !isPlain(r) || checkOwner(r.Owner) != nil {
		go wait(e.Release)
		return
	}
	if e.leave(r) {
		go wait(e.releaseHeld)
		return
	}
	t := &errand{kind: aRelease, names: e.names(r.Key), text: r.Owner}
	t.end, _ = ctx.Deadline()
	t.finish = func(answer any, err error) {
		if err == nil && answer != int64(1) {
			go wait(e.releaseHeld)
			return
		}
		done(err)
	}
	e.couriers.send(t)
}

// byDeadline returns what f does, or an error at the deadline of ctx, even if f does not care.
func byDeadline[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	end, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	return within(ctx, time.Until(end)+time.Second, f)
}
