package redis

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// StartTake implements [driver.Starter]. Requests that go to the server together are given up together, at the latest of their deadlines: so all
// should have about the same time.
func (e *Engine) StartTake(ctx context.Context, r driver.Request, done func(driver.Grant, error)) {
	wait := func(take func(context.Context, driver.Request) (driver.Grant, error)) {
		done(byDeadline(ctx, func(ctx context.Context) (driver.Grant, error) { return take(ctx, r) }))
	}
	if r.Join || r.Tokens > 1 || !e.mayBeFree(r) || !e.place.single() || checkOwner(r.Owner) != nil {
		go wait(e.Take)
		return
	}
	t, first := taking(r, e.names(r.Key))
	if first > driver.MaxToken {
		go wait(e.takeHeld)
		return
	}
	t.end, _ = ctx.Deadline()
	t.finish = func(answer any, err error) {
		g, err := e.tookFree(answer, err, first, r)
		if errors.Is(err, errAsk) {
			go wait(e.takeHeld)
			return
		}
		done(g, err)
	}
	e.couriers.send(&t)
}

// takeHeld takes what takeFree could not tell of.
func (e *Engine) takeHeld(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, _, err := e.take(ctx, r, e.names(r.Key), nil)
	return g, err
}

// StartRelease implements [driver.Starter]. See StartTake.
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

// byDeadline returns what f does, or an error at the deadline of ctx, even if f does not care. After it, f is not even called: it might send something.
func byDeadline[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	end, _ := ctx.Deadline()
	if !time.Now().Before(end) {
		var none T
		return none, driver.NoEffect(context.DeadlineExceeded)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	return within(ctx, time.Until(end)+time.Second, f) // ctx ends first, and says so
}
