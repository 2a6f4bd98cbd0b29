package redis

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// Only redlock uses what is in this file: it asks all its nodes at the same time, without a goroutine for each.

// StartTake implements [quorumnode.Starter]. Requests that go to the server together are given up together, at the
// latest of their deadlines. So their deadlines should be close together.
func (e *Engine) StartTake(ctx context.Context, r quorumnode.Request, done func(driver.Grant, error)) {
	t := &startedTake{engine: e, ctx: ctx, request: r, done: done}
	if !e.canBatch(r) || checkOwner(r.Owner) != nil {
		go t.runTake(e.TakeFrom)
		return
	}
	err := e.unsent.NoteSent(r.Owner)
	if err != nil {
		done(driver.Grant{}, err)
		return
	}
	if t.floor, err = t.setTake(r, e.names(r.Key), ""); err != nil {
		t.continueInBackground(undecided)
		return
	}
	t.deadline, _ = ctx.Deadline()
	t.onAnswer = t.noteAnswer
	e.batcher.Add(&t.uncontendedRequest)
}

// canBatch reports whether a take may go with others in one script.
func (e *Engine) canBatch(r quorumnode.Request) bool {
	return r.Tokens <= 1 && e.canTakeUncontended(r) && e.router.isSingle() && !(r.Join && e.contended.Has(r.Key))
}

// startedTake is a take that StartTake has begun.
type startedTake struct {
	uncontendedRequest
	engine  *Engine
	ctx     context.Context
	request quorumnode.Request
	floor   int64 // the smallest token that it accepts
	done    func(driver.Grant, error)
}

// noteAnswer handles the answer of the script.
func (t *startedTake) noteAnswer(answer any, err error) {
	g, err := readTakeFree(answer, err, t.floor, t.request.Request)
	if known := afterAnswer(t.request, err); known != decided {
		t.continueInBackground(known)
		return
	}
	t.done(g, err)
}

// continueInBackground goes on with a take that the first script could not decide.
func (t *startedTake) continueInBackground(known takeState) {
	go t.runTake(func(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
		return t.engine.takeOrJoin(ctx, r, t.names, known)
	})
}

// runTake runs a take, and calls done with its outcome.
func (t *startedTake) runTake(take func(context.Context, quorumnode.Request) (driver.Grant, error)) {
	g, err := beforeDeadline(t.ctx, func(ctx context.Context) (driver.Grant, error) {
		return take(ctx, t.request)
	})
	if t.engine.mayStillUndo(err) {
		err = driver.Spent(err)
	}
	t.done(g, err)
}

// StartRelease implements [quorumnode.Starter]. See StartTake.
func (e *Engine) StartRelease(ctx context.Context, r driver.Release, done func(error)) {
	wait := func(release func(context.Context) error) {
		_, err := beforeDeadline(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, release(ctx) })
		done(err)
	}
	if !e.router.isSingle() || !canReleaseUncontended(r) || checkOwner(r.Owner) != nil {
		go wait(func(ctx context.Context) error { return e.Release(ctx, r) })
		return
	}
	n := e.names(r.Key)
	fully := func(ctx context.Context) error { return e.releaseFully(ctx, n, r) }
	if wantedByOthers := e.forgetOwner(n, r); wantedByOthers || e.spentAtHead.Has(r.Owner) { // as in Release
		go wait(fully)
		return
	}
	t := &uncontendedRequest{kind: releaseRequest, names: n, value: r.Owner}
	t.deadline, _ = ctx.Deadline()
	t.onAnswer = func(answer any, err error) {
		if err == nil && answer != int64(1) {
			go wait(fully)
			return
		}
		done(err)
	}
	e.batcher.Add(t)
}

// beforeDeadline calls f with a context that ends at the deadline of ctx, and not before. f returns when it ends. After
// the deadline f is not called, as it might send something.
func beforeDeadline[T any](ctx context.Context, f func(context.Context) (T, error)) (result T, err error) {
	end, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return result, driver.NoEffect(err)
	}
	return f(ctx)
}
