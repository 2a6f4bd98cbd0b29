package redlock

import (
	"cmp"
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// StartTake implements quorumnode.Starter.
func (n *node) StartTake(ctx context.Context, r quorumnode.Request, done func(driver.Grant, error)) {
	voted := func(g driver.Grant, err error) {
		if err = n.checkVote(ctx, err); err != nil {
			g = driver.Grant{}
		}
		done(g, err)
	}
	if n.isReady() {
		if err := n.unsent.NoteSent(r.Owner); err != nil {
			done(driver.Grant{}, err)
			return
		}
		n.Engine.StartTake(ctx, r, voted)
		return
	}
	initAndJoin := n.beginTake(r.Owner)
	go func() {
		deadline, _ := ctx.Deadline()
		initCtx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
		// Nothing that Close must wait for has been sent yet.
		defer context.AfterFunc(n.set.ctx, cancel)()
		if err := initAndJoin(initCtx); err != nil {
			done(driver.Grant{}, err)
			return
		}
		n.Engine.StartTake(ctx, r, voted)
	}()
}

// beginTake notes a take that is to be sent when the returned function has initialized the server. That function fails
// if the take must not be sent, as its owner was released meanwhile.
func (n *node) beginTake(owner string) (initAndJoin func(context.Context) error) {
	goOn := n.unsent.NotePending(owner)
	return func(ctx context.Context) error {
		err := n.initAndJoinList(ctx)
		return cmp.Or(goOn(err == nil), err)
	}
}

// StartRelease implements quorumnode.Starter.
func (n *node) StartRelease(ctx context.Context, r driver.Release, done func(error)) {
	if n.unsent.Withdraw(r.Owner) {
		done(driver.ErrNotHeld)
		return
	}
	n.Engine.StartRelease(ctx, r, done)
}
