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
	r.Join = true
	a := e.attempts.begin(r, len(e.nodes))
	defer e.attempts.end(a)
	e.attempts.wait(a)
	e.crowd.Add(r.Key)
	order := e.arbiters(r.Key)
	for failures := 0; ; failures++ {
		var g driver.Grant
		n, err := e.arbitrate(ctx, a, r, order)
		if err == nil {
			g, err = e.gather(ctx, a, r, n)
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

// arbitrate waits until the arbiter has granted the name. One that does not answer, or grants nothing yet, is passed over for the next.
func (e *Engine) arbitrate(ctx context.Context, a *attempt, r driver.Request, order []*node) (*node, error) {
	votes := make([]Vote, len(e.nodes))
	for _, n := range order {
		err := e.queue(ctx, a, r, n)
		if err == nil {
			return n, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		votes[n.index] = e.vote(n, err)
		e.drop(n, a) // its place in the queue
	}
	err, _ := e.verdict(votes, false)
	return nil, err
}

// queue waits until one node has granted the name.
func (e *Engine) queue(ctx context.Context, a *attempt, r driver.Request, n *node) error {
	r.Floor = a.least()
	err := e.join(ctx, a, r, n)
	if _, closed := e.Closed(err); closed || !errors.Is(err, driver.ErrHeld) {
		return err
	}
	ctx, stop := e.watch(ctx, n, r.Key)
	defer stop()
	_, err = n.Wait(ctx, r)
	return err
}

// join asks one node, and joins its queue if that refuses. A request that ctx leaves behind goes on; what it gets for an owner
// that is released meanwhile is released, too.
func (e *Engine) join(ctx context.Context, a *attempt, r driver.Request, n *node) error {
	answers := make(chan error, 1)
	a.use()
	begun := e.begin(func() {
		defer e.attempts.end(a)
		err := e.request(ctx, n, func(ctx context.Context) error {
			if err := e.clear(ctx, a, n); err != nil {
				return err
			}
			_, err := n.Take(ctx, r)
			return err
		})
		if a.released() {
			e.drop(n, a) // its place in the queue, too
		}
		answers <- err
	})
	if !begun {
		e.attempts.end(a)
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
func (e *Engine) gather(ctx context.Context, a *attempt, r driver.Request, arbiter *node) (driver.Grant, error) {
	b := e.ballot(r, a)
	b.arbiter = arbiter
	return b.hold(ctx)
}
