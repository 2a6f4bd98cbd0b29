package redis

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/interrupt"
)

// A method of the engine returns when its context ends. The client does not: at best it observes the deadline of a
// context, and it never observes a cancellation while it waits for a reply. So calls of the client are interrupted, or
// run in goroutines that the caller can leave, unless the client returns in time by itself. From the outside in:
//
//	inTime           calls f, and returns when ctx ends; what f returns later goes to late
//	within           the same with a limit of its own, for polls, and without late
//	returnsInTime    whether the caller may call f itself
//	interruptible    makes the client return when ctx is cancelled, where that is possible
//	detach.Do        calls f in a worker, which the caller can leave

// leaveAfter is how long the caller of a Cluster's client waits after the end of its context before it leaves the call.
// A call that retries while a slot is moving ends with the context, and is then known to have had no effect.
const leaveAfter = 100 * time.Millisecond

// returnsInTime reports whether the client gives up its requests when ctx ends, or ctx never ends.
func (e *Engine) returnsInTime(ctx context.Context) bool {
	return ctx.Done() == nil || e.asyncPipe != nil && e.replicas == 0 ||
		e.observesDeadlines && driver.IsDeadlineOnly(ctx)
}

// interruptible returns a context with which the client returns when ctx ends, or nil. Call End of it.
//
// An interrupted request gets no answer, so a node of redlock is not interrupted: its late vote may count. Nor is a
// client that waits for replicas, or one of a Cluster.
func (e *Engine) interruptible(ctx context.Context) *interrupt.Context {
	if e.replicas > 0 || e.nodeList != nil || !e.router.isSingle() {
		return nil
	}
	return e.interrupter.Begin(ctx)
}

// mustReturnInTime reports whether nobody else makes a call return when ctx ends.
func (e *Engine) mustReturnInTime(ctx context.Context) bool {
	_, interruptible := ctx.(*interrupt.Context)
	return interruptible || e.returnsInTime(ctx)
}

// inTime returns what f returns, or an error when ctx ends. f then goes on, and late, if it is not nil, gets what f
// returns in the end.
func inTime[T any](
	ctx context.Context, e *Engine, f func(context.Context) (T, error), late func(T, error),
) (T, error) {
	if e.returnsInTime(ctx) {
		return f(ctx)
	}
	if own := e.interruptible(ctx); own != nil {
		value, err := f(own)
		return value, own.End(err)
	}
	return detach.Do(ctx, &e.workers, f, late)
}

// within is inTime with a limit, after which the error is errNoAnswer. That is not [driver.Spent]: nothing releases
// what f is granted later, so its owner can ask again.
func within[T any](
	ctx context.Context, e *Engine, limit time.Duration, f func(context.Context) (T, error),
) (T, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	value, err := detach.Do(limited, &e.workers, f, nil)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return value, errNoAnswer
	}
	return value, err
}

// leftTakeTimeout limits the release of a lock that was granted after its caller had left.
const leftTakeTimeout = 5 * time.Second

// releaseLate returns a function that handles the outcome of a take whose caller had left. It forgets the waiter, which
// may have been added after the core's release, and releases what was granted; see [Engine.releaseGrant].
func (e *Engine) releaseLate(r driver.Request) func(driver.Grant, error) {
	return func(_ driver.Grant, err error) {
		e.waiters.remove(r.Owner)
		if err != nil || e.nodeList != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), leftTakeTimeout)
		defer cancel()
		_ = e.Release(ctx, driver.Release{
			Hold:  driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode},
			Place: r.Place,
		})
	}
}
