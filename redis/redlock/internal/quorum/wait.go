package quorum

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// minRetryPause is about how long an owner that the arbiter does not refuse waits before it asks the nodes that do
// again. The pause doubles each time, up to 64 ms.
const minRetryPause = 500 * time.Microsecond

// Wait implements [driver.Engine]. It queues at the arbiter of the name, and then asks the other nodes.
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.MaxWaiters = true, 0 // no limit: the call may join several queues, one after the other
	c := e.calls.begin(r, len(e.nodes))
	defer e.calls.endUse(c)
	e.calls.noteWaiting(c)
	e.contended.Add(r.Key, contendedFor)
	order := e.arbiters(r.Key)
	for failures := 0; ; failures++ {
		if failures > 0 {
			e.repeatCleanups(c, false)
		}
		var g driver.Grant
		o, n, granted, err := e.awaitArbiter(ctx, c, r, order)
		if err == nil {
			g, err = e.useGrant(ctx, o, r, n, granted)
			order = e.arbitersAfter(err, r.Key)
		}
		switch {
		case err == nil:
			// Others probably wait behind. The next caller of this process must not overtake them.
			e.contended.Add(r.Key, contendedFor)
			return g, nil
		case ctx.Err() != nil:
			return driver.Grant{}, ctx.Err()
		case e.ctx.Err() != nil:
			return driver.Grant{}, errClosed
		case driver.IsPermanent(err):
			return driver.Grant{}, err
		}
		if err := e.backOff(ctx, failures); err != nil {
			return driver.Grant{}, err
		}
	}
}

// backOff waits for a random time, which is longer after each failure, up to about a second.
func (e *Engine) backOff(ctx context.Context, failures int) error {
	pause := min(5*time.Millisecond<<min(failures, 8), time.Second)
	t := time.NewTimer(e.jitter(pause))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.ctx.Done():
		return errClosed
	}
}

// arbitersAfter returns the order in which nodes are asked to be the arbiter after a ballot that has failed:
// first those that refuse. The holder has the name on them and not on the arbiter, perhaps because that did
// not answer at the time, so they notice the release.
func (e *Engine) arbitersAfter(failed error, k driver.Key) []*node {
	order := e.arbiters(k)
	if votes, ok := errors.AsType[*Error](failed); ok {
		rank := func(n *node) int {
			if votes.Votes[n.index].Answer == Held {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(order, func(a, b *node) int { return cmp.Compare(rank(a), rank(b)) })
	}
	return order
}

// awaitArbiter waits until the arbiter has granted the name to an owner of the call. A node that does not answer, or
// grants nothing yet, is passed over for the next one.
func (e *Engine) awaitArbiter(
	ctx context.Context, c *call, r driver.Request, order []*node,
) (*owner, *node, quorumnode.Grant, error) {
	votes := make([]Vote, len(e.nodes))
	for _, n := range order {
		o := e.calls.usableOwner(c)
		granted, err := e.waitAt(ctx, o, r, n)
		if err == nil {
			return o, n, granted, nil
		}
		if ctx.Err() != nil {
			return nil, nil, granted, ctx.Err() // the caller releases what is left
		}
		votes[n.index] = e.readVote(n, err)
		e.giveUpBallot(o) // and so leaves the queue
	}
	err, _ := e.verdict(votes, false)
	return nil, nil, quorumnode.Grant{}, err
}

// waitAt waits until one node has granted the name.
func (e *Engine) waitAt(
	ctx context.Context, o *owner, callRequest driver.Request, n *node,
) (granted quorumnode.Grant, _ error) {
	r := o.request(callRequest)
	err := e.joinAt(ctx, o, r, n)
	if _, closed := e.Closed(err); closed || !errors.Is(err, driver.ErrHeld) || driver.IsSpent(err) {
		return granted, err
	}
	ctx, stop := e.watchNode(ctx, n, r.Key)
	defer stop()
	// Like joinAt, it may say that the node grants nothing now: then another one is asked.
	granted, err = n.WaitForGrant(ctx, r)
	if err != nil && !driver.HadNoEffect(err) {
		o.noteUnknown(n)
	}
	if driver.IsSpent(err) {
		o.noteSpentByNode()
	}
	return granted, err
}

// joinAt asks one node for the name, and joins its queue if that refuses. The request goes on when ctx has
// ended. What it gets for an owner that is spent by then is cleaned up.
func (e *Engine) joinAt(ctx context.Context, o *owner, r quorumnode.Request, n *node) error {
	if !o.beginTake(n) {
		return errReleased
	}
	answers := make(chan error, 1)
	o.call.addUse()
	take := func() {
		defer e.calls.endUse(o.call)
		err := e.sendRequest(ctx, n, func(ctx context.Context) error {
			_, err := n.TakeFrom(ctx, r)
			return err
		})
		if driver.IsSpent(err) {
			o.noteSpentByNode()
		}
		holdsOrWaits := err == nil || errors.Is(err, driver.ErrHeld)
		e.noteTake(n, o, holdsOrWaits || !driver.HadNoEffect(err), holdsOrWaits)
		answers <- err
	}
	if !e.goInBackground(take) {
		e.noteTake(n, o, false, false)
		e.calls.endUse(o.call)
		return errClosed
	}
	select {
	case err := <-answers:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ballotAfterGrant asks all nodes after the arbiter has granted the name. The arbiter is asked again, too, because the
// lease of a hand-over may be short. Its token is not used as the floor: it was granted earlier, and a node that has
// lost its counter since must not count on from there.
func (e *Engine) ballotAfterGrant(
	ctx context.Context, o *owner, r driver.Request, arbiter *node,
) (driver.Grant, error) {
	b := e.newBallot(r, o)
	b.arbiter = arbiter
	return b.run(ctx)
}
