package quorum

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// firstPause is how long those whom the arbiter does not refuse wait, about, before they ask the nodes again that do. It doubles with each time, up to 64 ms.
const firstPause = 500 * time.Microsecond

// Wait implements [driver.Engine]. It queues at the arbiter of the name, and then asks the other nodes.
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.Waiters = true, 0 // a place at the arbiter is one of several that it may have
	a := e.attempts.begin(r, len(e.nodes))
	defer e.attempts.end(a)
	e.attempts.wait(a)
	e.crowd.Add(r.Key)
	order := e.arbiters(r.Key)
	for failures := 0; ; failures++ {
		if failures > 0 {
			e.dropAgain(a, false)
		}
		var g driver.Grant
		o, n, err := e.arbitrate(ctx, a, r, order)
		if err == nil {
			g, err = e.gather(ctx, o, r, n)
			order = e.after(err, r.Key)
		}
		switch {
		case err == nil:
			e.crowd.Add(r.Key) // others are likely to wait behind: the next one of this process must not pass them
			return g, nil
		case ctx.Err() != nil:
			return driver.Grant{}, ctx.Err()
		case e.life.Err() != nil:
			return driver.Grant{}, errClosed
		case driver.IsPermanent(err):
			return driver.Grant{}, err
		}
		if err := e.pause(ctx, failures); err != nil {
			return driver.Grant{}, err
		}
	}
}

// pause waits for a random time, longer each time, up to a second.
func (e *Engine) pause(ctx context.Context, failures int) error {
	most := min(5*time.Millisecond<<min(failures, 8), time.Second)
	t := time.NewTimer(e.jitter(most))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.life.Done():
		return errClosed
	}
}

// after is the order in which nodes are to be the arbiter after a ballot that has failed: first those that refuse. The holder has the name
// on them and not on the arbiter, perhaps because that did not answer at the time, and it is there that the release is noticed.
func (e *Engine) after(failed error, k driver.Key) []*node {
	order := e.arbiters(k)
	if votes, ok := errors.AsType[*Error](failed); ok {
		refuses := func(n *node) int {
			if votes.Votes[n.index].Answer == Held {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(order, func(a, b *node) int { return cmp.Compare(refuses(a), refuses(b)) })
	}
	return order
}

// arbitrate waits until the arbiter has granted the name to an owner of the attempt. One that does not answer, or grants nothing yet, is passed over for the next.
func (e *Engine) arbitrate(ctx context.Context, a *attempt, r driver.Request, order []*node) (*owner, *node, error) {
	votes := make([]Vote, len(e.nodes))
	for _, n := range order {
		o := e.attempts.asker(a)
		err := e.queue(ctx, o, r, n)
		if err == nil {
			return o, n, nil
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err() // the caller releases what is left
		}
		votes[n.index] = e.vote(n, err)
		e.giveUp(o) // its place in the queue
	}
	err, _ := e.verdict(votes, false)
	return nil, nil, err
}

// queue waits until one node has granted the name.
func (e *Engine) queue(ctx context.Context, o *owner, r driver.Request, n *node) error {
	r.Owner, r.Place, r.Floor = o.name, o.attempt.place, o.least()
	err := e.join(ctx, o, r, n)
	if _, closed := e.Closed(err); closed || !errors.Is(err, driver.ErrHeld) || driver.IsSpent(err) {
		return err
	}
	ctx, stop := e.watch(ctx, n, r.Key)
	defer stop()
	_, err = n.Wait(ctx, r)
	if err != nil && !driver.HadNoEffect(err) {
		o.doubts(n)
	}
	if driver.IsSpent(err) {
		o.names()
	}
	return err
}

// join asks one node, and joins its queue if that refuses. A request that ctx leaves behind goes on; what it gets for an owner
// that is over by then is released, too.
func (e *Engine) join(ctx context.Context, o *owner, r driver.Request, n *node) error {
	if !o.ask(n) {
		return errReleased
	}
	answers := make(chan error, 1)
	o.attempt.use()
	take := func() {
		defer e.attempts.end(o.attempt)
		err := e.request(ctx, n, func(ctx context.Context) error {
			_, err := n.Take(ctx, r)
			return err
		})
		if driver.IsSpent(err) {
			o.names()
		}
		there := err == nil || errors.Is(err, driver.ErrHeld) // it holds, or waits
		e.took(n, o, there || !driver.HadNoEffect(err), there)
		answers <- err
	}
	if !e.begin(take) {
		e.took(n, o, false, false)
		e.attempts.end(o.attempt)
		return errClosed
	}
	select {
	case err := <-answers:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gather asks all nodes when the arbiter has granted the name. That one is asked again, too: what it has given to a waiter may be short. So is the token that it
// gave: it is from before, and a node that has lost its counter since must not count on from there.
func (e *Engine) gather(ctx context.Context, o *owner, r driver.Request, arbiter *node) (driver.Grant, error) {
	b := e.ballot(r, o)
	b.arbiter = arbiter
	return b.hold(ctx)
}
