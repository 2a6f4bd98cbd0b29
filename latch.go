package leasehold

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// DefaultLatchTTL is how long a latch is remembered after the last TrySet or CountDown, unless TTL says
// otherwise.
const DefaultLatchTTL = MaxTTL

// Latch is a count that goes down to zero; those who wait for zero then go on. It has no holders and no
// leases: it is kept until nobody has counted it down for as long as its TTL, by default
// 24 h.
type Latch struct{ lock *lock }

// Latch returns the latch with that name. Of the options only TTL and WaitLimit matter to it. Not every engine has
// latches: calls then return ErrUnsupported.
func (c *Client) Latch(name string, opts ...Option) *Latch {
	return &Latch{newLock(c, driver.Latch, name, 1, append([]Option{TTL(DefaultLatchTTL)}, opts...))}
}

// TrySet sets the latch to n, at least 1, if it is not set or has come down to zero, and reports
// whether it did.
func (l *Latch) TrySet(ctx context.Context, n int) (bool, error) {
	if l.lock.err == nil && n < 1 {
		return false, invalid("count", n, "at least 1")
	}
	set := driver.LatchSet{Name: l.lock.key.Name, ID: newOwner(), Count: n, TTL: l.lock.ttl}
	return latchCall(ctx, l.lock, "set", func(ctx context.Context, e driver.Latcher) (bool, error) {
		return e.TrySet(ctx, set)
	})
}

// CountDown takes one from the count and returns what is left. At zero it changes nothing. It returns ErrNotSet if
// the latch is not set. If the answer of the engine is lost, CountDown asks again, and is counted
// once; if it fails in the end with ErrUnavailable, it may have been counted or not. Set a latch anew only when
// nobody counts down any more: a request that the network held up counts against what it finds.
func (l *Latch) CountDown(ctx context.Context) (left int, err error) {
	down := driver.LatchDown{Name: l.lock.key.Name, ID: newOwner(), TTL: l.lock.ttl}
	state, err := latchCall(ctx, l.lock, "count down", func(ctx context.Context, e driver.Latcher) (driver.LatchState, error) {
		return e.CountDown(ctx, down)
	})
	return state.Count, err
}

// Count returns what is left, or ErrNotSet.
func (l *Latch) Count(ctx context.Context) (int, error) {
	state, err := l.state(ctx, "count")
	return state.Count, err
}

func (l *Latch) state(ctx context.Context, op string) (driver.LatchState, error) {
	return latchCall(ctx, l.lock, op, func(ctx context.Context, e driver.Latcher) (driver.LatchState, error) {
		return e.LatchState(ctx, l.lock.key.Name)
	})
}

// Wait returns nil when the count that stands when it is called has come down to zero. It returns ErrNotSet if the latch is not
// set (so set it before others wait) or is forgotten meanwhile, ErrTimeout after WaitLimit,
// ErrUnavailable if the engine stays away for longer than a request may take or has said nothing within WaitLimit, or an error of ctx.
func (l *Latch) Wait(ctx context.Context) error {
	k := l.lock
	waiting, cancel := k.patience(ctx)
	defer cancel()
	state, err := l.state(waiting, "wait for")
	if err != nil || state.Count == 0 {
		return err
	}
	waiting, end := k.client.alive(waiting)
	defer end()
	return k.patiently(waiting, "wait for", nil, func() error {
		_, err := request(waiting, k.client, 0, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, k.client.engine.(driver.Latcher).WaitLatch(ctx, k.key.Name, state.Generation)
		}, ignore)
		return err
	})
}

// latchCall sends a request that may be repeated: whatever it does, it does once.
func latchCall[T any](ctx context.Context, k *lock, op string, f func(context.Context, driver.Latcher) (T, error)) (v T, err error) {
	if k.err != nil {
		return v, k.err
	}
	e, ok := k.client.engine.(driver.Latcher)
	if !ok {
		return v, k.failure(op, ErrUnsupported, nil)
	}
	if err := k.ended(ctx, op, nil); err != nil {
		return v, err
	}
	err = k.patiently(ctx, op, errNoAnswer, func() error {
		var err error
		v, err = request(ctx, k.client, k.client.requestTimeout/2, func(ctx context.Context) (T, error) { return f(ctx, e) }, ignore)
		return err
	})
	return v, err
}

// patiently repeats a request whose outcome is unknown, until it has failed for as long as a request may take. If the engine has said
// nothing yet, unheard tells so.
func (l *lock) patiently(ctx context.Context, op string, unheard error, f func() error) error {
	var outage time.Time
	for failures := 1; ; failures++ {
		began := time.Now()
		err := f()
		if err == nil {
			return nil
		}
		if over := l.ended(ctx, op, unheard); over != nil {
			return over
		}
		if outage.IsZero() || time.Since(began) > l.client.requestTimeout {
			outage = time.Now() // it may have waited long before it failed
			failures = 1
		}
		if driver.IsNo(err) || driver.IsPermanent(err) || time.Since(outage) > l.client.requestTimeout {
			sentinel, cause := fromEngine(err)
			return l.failure(op, sentinel, cause)
		}
		l.client.pause(ctx, failures)
	}
}
