package sqlite

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
)

// A method of the engine returns when its context ends. A disk does not: a call of SQLite cannot be interrupted while
// the system reads or writes. So each method runs in a goroutine that its caller can leave.

// inTime returns what f returns, or an error when ctx ends. f then goes on.
func inTime[T any](ctx context.Context, e *Engine, f func(context.Context) (T, error)) (T, error) {
	return detach.Do(ctx, &e.workers, f, nil)
}

// Take implements [driver.Engine].
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	take := func(ctx context.Context) (driver.Grant, error) { return e.takeOnce(ctx, r) }
	return detach.Do(ctx, &e.workers, take, func(_ driver.Grant, err error) {
		if err != nil {
			return
		}
		// The caller has left. Otherwise the core's clean-up would do so at its next repetition.
		ctx, cancel := context.WithTimeout(e.ctx, leftTakeTimeout)
		defer cancel()
		_ = e.release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}, Place: r.Place})
	})
}

// leaveAfter is how long after its context a call may end by itself. Waiting for another process ends with the context,
// and then it is certain that nothing has happened.
const leaveAfter = 50 * time.Millisecond

// leftTakeTimeout limits the release of what was granted after its caller had left.
const leftTakeTimeout = 5 * time.Second

// Wait implements [driver.Engine].
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return inTime(ctx, e, func(ctx context.Context) (driver.Grant, error) { return e.wait(ctx, r) })
}

// Renew implements [driver.Engine].
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	detach.Renew(ctx, &e.workers, batch, report, e.renew)
}

// Release implements [driver.Engine].
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	return detach.Run(ctx, &e.workers, func(ctx context.Context) error { return e.release(ctx, r) })
}

// Downgrade implements [driver.Engine].
func (e *Engine) Downgrade(ctx context.Context, h driver.Hold) error {
	return detach.Run(ctx, &e.workers, func(ctx context.Context) error { return e.downgrade(ctx, h) })
}

// ForceRelease implements [driver.Operator]. Any token of the holder's range identifies it.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	return detach.Run(ctx, &e.workers, func(ctx context.Context) error { return e.forceRelease(ctx, k, token) })
}

// List implements [driver.Engine]. All entries of one listing existed at the same moment.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	return inTime(ctx, e, func(ctx context.Context) ([]driver.Status, error) { return e.list(ctx, q) })
}

// TrySet implements [driver.Latcher]. The latch is flushed to disk before TrySet returns.
func (e *Engine) TrySet(ctx context.Context, s driver.LatchSet) (bool, error) {
	return inTime(ctx, e, func(ctx context.Context) (bool, error) { return e.trySet(ctx, s) })
}

// CountDown implements [driver.Latcher]. The count is flushed to disk before CountDown returns.
func (e *Engine) CountDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	return inTime(ctx, e, func(ctx context.Context) (driver.LatchState, error) { return e.countDown(ctx, d) })
}

// LatchState implements [driver.Latcher].
func (e *Engine) LatchState(ctx context.Context, name string) (driver.LatchState, error) {
	return inTime(ctx, e, func(ctx context.Context) (driver.LatchState, error) { return e.latchState(ctx, name) })
}

// Sweep implements [driver.Operator].
func (e *Engine) Sweep(ctx context.Context, l driver.Leak) error {
	return detach.Run(ctx, &e.workers, func(ctx context.Context) error { return e.sweep(ctx, l) })
}

// Record implements [driver.Operator].
func (e *Engine) Record(ctx context.Context, r driver.Removal) error {
	return detach.Run(ctx, &e.workers, func(ctx context.Context) error { return e.record(ctx, r) })
}

// Records implements [driver.Operator].
func (e *Engine) Records(ctx context.Context, limit int) ([]driver.Removal, error) {
	return inTime(ctx, e, func(ctx context.Context) ([]driver.Removal, error) { return e.records(ctx, limit) })
}

// SetData implements [driver.DataKeeper]. The data is flushed to disk before SetData returns.
func (e *Engine) SetData(ctx context.Context, s driver.DataSet) error {
	return detach.Run(ctx, &e.workers, func(ctx context.Context) error { return e.setData(ctx, s) })
}

// Data implements [driver.DataKeeper].
func (e *Engine) Data(ctx context.Context, name string) (driver.Data, error) {
	return inTime(ctx, e, func(ctx context.Context) (driver.Data, error) { return e.readData(ctx, name) })
}
