package leasehold

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// Latch is a count that goes down to zero, on which callers wait. It has no holder and no lease. It is forgotten when
// nobody has set it or counted it down for as long as its TTL, by default 24 h. The engine redisson keeps one that is
// set for 24 h until it is at zero.
type Latch struct{ lock *lock }

// Latch returns the latch with that name. Only the options TTL and WaitLimit apply to it. Not every engine has latches:
// calls then return ErrUnsupported.
func (c *Client) Latch(name string, opts ...Option) *Latch {
	return &Latch{newLock(c, driver.Latch, name, 1, append([]Option{TTL(MaxTTL)}, opts...))}
}

// TrySet sets the latch to n, at least 1, and reports whether it did. It does nothing if the latch is set and has not
// come down to zero.
func (l *Latch) TrySet(ctx context.Context, n int) (bool, error) {
	if l.lock.err == nil && n < 1 {
		return false, newValueError("count", n, "at least 1")
	}
	set := driver.LatchSet{Name: l.lock.key.Name, ID: newOwner(), Count: n, TTL: l.lock.ttl}
	return callLatcher(ctx, l.lock, "set", func(ctx context.Context, e driver.Latcher) (bool, error) {
		return e.TrySet(ctx, set)
	})
}

// CountDown decrements the count and returns the rest. At zero it changes nothing. It returns ErrNotSet if the latch is
// not set. If the engine's answer is lost, CountDown asks again, and counts once. If it fails with ErrUnavailable in
// the end, it may have counted or not. Set a latch anew only when nobody counts down any more: a request that was
// delayed on the network counts against the new count.
func (l *Latch) CountDown(ctx context.Context) (left int, err error) {
	down := driver.LatchDown{Name: l.lock.key.Name, ID: newOwner(), TTL: l.lock.ttl}
	countDown := func(ctx context.Context, e driver.Latcher) (driver.LatchState, error) {
		return e.CountDown(ctx, down)
	}
	state, err := callLatcher(ctx, l.lock, "count down", countDown)
	return state.Count, err
}

// Count returns the count, or ErrNotSet.
func (l *Latch) Count(ctx context.Context) (int, error) {
	state, err := l.state(ctx, "count")
	return state.Count, err
}

func (l *Latch) state(ctx context.Context, op string) (driver.LatchState, error) {
	return callLatcher(ctx, l.lock, op, func(ctx context.Context, e driver.Latcher) (driver.LatchState, error) {
		return e.LatchState(ctx, l.lock.key.Name)
	})
}

// Wait returns nil when the current count has come down to zero. It returns ErrNotSet if the latch is not set (so set
// it before others wait) or is forgotten meanwhile, ErrTimeout after WaitLimit, ErrUnavailable if the engine does not
// answer for longer than a request may take or has said nothing within WaitLimit, or an error of ctx.
func (l *Latch) Wait(ctx context.Context) error {
	k := l.lock
	waiting, cancel := withTimeout(ctx, k.waitLimit, errWaitLimit)
	defer cancel()
	state, err := l.state(waiting, "wait for")
	if err != nil || state.Count == 0 {
		return err
	}
	waiting, end := k.client.cancelOnClose(waiting)
	defer end()
	return k.retryUnknown(waiting, "wait for", nil, func() error {
		_, err := timelimit.Send(waiting, &k.client.requests, 0, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, k.client.engine.(driver.Latcher).WaitLatch(ctx, k.key.Name, state.Generation)
		})
		return err
	})
}

func (c *Client) hasLatches() bool {
	_, ok := c.engine.(driver.Latcher)
	return ok
}

func callLatcher[T any](
	ctx context.Context, k *lock, op string, f func(context.Context, driver.Latcher) (T, error),
) (v T, err error) {
	return callRepeatedly(ctx, k, op, func(ctx context.Context) (T, error) {
		return f(ctx, k.client.engine.(driver.Latcher))
	})
}

// callRepeatedly sends a request that may be repeated, because it takes effect only once.
func callRepeatedly[T any](
	ctx context.Context, k *lock, op string, f func(context.Context) (T, error),
) (v T, err error) {
	if k.err != nil {
		return v, k.err
	}
	if err := k.callError(ctx, op, nil); err != nil {
		return v, err
	}
	err = k.retryUnknown(ctx, op, timelimit.ErrNoAnswer, func() error {
		var err error
		requests := &k.client.requests
		v, err = timelimit.Send(ctx, requests, requests.Timeout/2, f)
		return err
	})
	return v, err
}

// retryUnknown repeats a request whose outcome is unknown, until it has failed for as long as a request may take.
// notKnown is the error if ctx ends before the engine has answered, or nil.
func (l *lock) retryUnknown(ctx context.Context, op string, notKnown error, f func() error) error {
	var outage time.Time
	for failures := 1; ; failures++ {
		began := time.Now()
		err := f()
		if err == nil {
			return nil
		}
		if callErr := l.callError(ctx, op, notKnown); callErr != nil {
			return callErr
		}
		if outage.IsZero() || time.Since(began) > l.client.requests.Timeout {
			outage = time.Now() // the request may have waited long before it failed
			failures = 1
		}
		if driver.IsNo(err) || driver.IsPermanent(err) || time.Since(outage) > l.client.requests.Timeout {
			sentinel, cause := fromEngine(err)
			return l.newError(op, sentinel, cause)
		}
		l.client.waitBeforeRetry(ctx, failures)
	}
}
