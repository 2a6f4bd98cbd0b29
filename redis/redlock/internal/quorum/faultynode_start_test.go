package quorum

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// StartTake implements quorumnode.Starter.
func (n *faultyNode) StartTake(ctx context.Context, r quorumnode.Request, done func(driver.Grant, error)) {
	n.rule.checkTake(r.Owner, n.name)
	go func() {
		done(byDeadline(ctx, func(ctx context.Context) (driver.Grant, error) { return n.sendTake(ctx, r) }))
	}()
}

// StartRelease implements quorumnode.Starter.
func (n *faultyNode) StartRelease(ctx context.Context, r driver.Release, done func(error)) {
	n.rule.noteRelease(r.Owner, n.name)
	go func() {
		_, err := byDeadline(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, n.Release(ctx, r) })
		done(err)
	}()
}

func byDeadline[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	end, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	return f(ctx)
}
