package redlock

import (
	"cmp"
	"context"
	"fmt"

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

// StartPass implements quorumnode.Passer.
func (n *node) StartPass(ctx context.Context, p quorumnode.Pass, done func(passed bool, err error)) {
	if !n.isReady() {
		done(false, nil)
		return
	}
	n.Engine.StartPass(ctx, p, func(passed bool, err error) {
		if passed {
			if without := n.checkVote(ctx, nil); without != nil {
				// It may have had an effect, whatever the reason says.
				passed, err = false, fmt.Errorf("passed by a server without a vote: %v", without)
			}
		}
		done(passed, err)
	})
}

// WaitForGrant implements quorumnode.Passer. What a server without a vote says of a majority does not count.
func (n *node) WaitForGrant(ctx context.Context, r quorumnode.Request) (quorumnode.Grant, error) {
	granted, err := n.Engine.WaitForGrant(ctx, r)
	granted.Agreed = granted.Agreed && n.checkVote(ctx, nil) == nil
	return granted, err
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
