package quorum

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// StartTake implements driver.Starter.
func (l *link) StartTake(ctx context.Context, r driver.Request, done func(driver.Grant, error)) {
	l.rule.take(r.Owner, l.name)
	go func() {
		done(byDeadline(ctx, func(ctx context.Context) (driver.Grant, error) { return l.taking(ctx, r) }))
	}()
}

// StartRelease implements driver.Starter.
func (l *link) StartRelease(ctx context.Context, r driver.Release, done func(error)) {
	l.rule.release(r.Owner, l.name)
	go func() {
		_, err := byDeadline(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.Release(ctx, r) })
		done(err)
	}()
}

func byDeadline[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	end, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	return f(ctx)
}
