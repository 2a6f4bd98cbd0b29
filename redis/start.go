package redis

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// StartTake implements [driver.Starter]. Requests that go to the server together are given up together, at the latest of their deadlines: so all
// should have about the same time.
func (e *Engine) StartTake(ctx context.Context, r driver.Request, done func(driver.Grant, error)) {
	s := &start{engine: e, ctx: ctx, request: r, done: done}
	if r.Join && e.crowded.Has(r.Key) || r.Tokens > 1 || !e.mayBeFree(r) || !e.place.single() || checkOwner(r.Owner) != nil {
		go s.wait(e.Take)
		return
	}
	s.errand, s.first = taking(r, e.names(r.Key))
	if s.first > driver.MaxToken {
		s.goOn(errAsk)
		return
	}
	s.end, _ = ctx.Deadline()
	s.finish = s.answer
	e.couriers.send(&s.errand)
}

// start is a take that was started.
type start struct {
	errand
	engine  *Engine
	ctx     context.Context
	request driver.Request
	first   int64 // the least token that it asks for
	done    func(driver.Grant, error)
}

// answer hears what the script has answered.
func (s *start) answer(answer any, err error) {
	g, err := s.engine.tookFree(answer, err, s.first, s.request)
	if s.engine.unsettled(s.request, err) {
		s.goOn(err)
		return
	}
	s.done(g, err)
}

// goOn sees to what one script could not settle.
func (s *start) goOn(err error) {
	go s.wait(func(ctx context.Context, r driver.Request) (driver.Grant, error) {
		return s.engine.takeHeld(ctx, r, s.names, err)
	})
}

// wait gives done the outcome of a take.
func (s *start) wait(take func(context.Context, driver.Request) (driver.Grant, error)) {
	g, err := byDeadline(s.ctx, func(ctx context.Context) (driver.Grant, error) { return take(ctx, s.request) })
	if s.engine.mayUndo(err) {
		err = driver.Spent(err)
	}
	s.done(g, err)
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
	if wanted := e.leave(r); wanted || e.turns.Has(r.Owner) { // as in Release
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
