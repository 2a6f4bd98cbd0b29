package memory

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// OnLeftGrant implements [quorumnode.Passer]. Waiters that give up leave the queue by themselves.
func (e *Engine) OnLeftGrant(func(k driver.Key, owner string)) {}

// StartPass implements [quorumnode.Passer].
func (e *Engine) StartPass(ctx context.Context, p quorumnode.Pass, done func(passed bool, err error)) {
	passed := e.pass(&p, func(q *queue) (*waiter, bool) { return nil, q == nil })
	if passed {
		done(true, nil)
		return
	}
	switch g, err := e.TakeFrom(ctx, p.To); {
	case err != nil && e.Wanted(p.Hold.Key):
		done(false, driver.ErrHeld)
	case err != nil:
		done(false, nil)
	case g.Token != p.To.Floor:
		_ = e.Release(ctx, driver.Release{Hold: driver.Hold{Key: p.Hold.Key, Owner: p.To.Owner}})
		done(false, nil)
	default:
		done(true, driver.ErrNotHeld)
	}
}

// StartHandOver implements [quorumnode.Passer]. Began and Next.Received are moments of this process.
func (e *Engine) StartHandOver(_ context.Context, h quorumnode.HandOver, done func(passed bool, err error)) {
	done(driver.Now().Since(h.Began) <= h.To.TTL/4 && e.pass(&h.Pass, func(q *queue) (*waiter, bool) {
		next := q.next()
		if next == nil || next.Waiter != h.Next.Waiter {
			return nil, false
		}
		q.head.grant.Start = h.Began
		return q.head, true
	}), nil)
}

// pass passes a name from its holder to another owner, if the queue allows it, and reports whether it has. find also
// returns the waiter that holds as this owner, if there is one.
func (e *Engine) pass(p *quorumnode.Pass, find func(*queue) (w *waiter, ok bool)) bool {
	s := e.shard(p.Hold.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := e.now()
	en, h := e.findHoldLocked(s, &p.Hold, now)
	if h == nil || h.mode != driver.Exclusive {
		return false
	}
	w, ok := find(en.queue)
	if last := e.tokens.Load(); !ok || last >= p.To.Floor || !e.tokens.CompareAndSwap(last, p.To.Floor) {
		return false
	}
	en.remove(h)
	en.add(hold{
		owner: p.To.Owner, text: p.To.Holder, token: p.To.Floor, tokens: 1, mode: driver.Exclusive, weight: 1,
		granted: now, expires: after(now, p.To.TTL), passed: w,
	})
	if w != nil {
		en.queue.remove(w)
		w.grant = driver.Grant{
			Token: p.To.Floor, Tokens: 1, Owner: p.To.Owner, TTL: p.To.TTL, Start: w.grant.Start}
		w.behind = en.queue.next()
		close(w.ready)
	}
	e.serveLocked(s, p.Hold.Name, en)
	return true
}

// next returns what a holder is told of the head of the queue, or nil.
func (q *queue) next() *quorumnode.Next {
	if q == nil || q.head == nil {
		return nil
	}
	r := &q.head.request
	if r.Kind != driver.Lock || r.Mode != driver.Exclusive || r.Tokens > 1 {
		return nil
	}
	return &quorumnode.Next{Waiter: r.Owner, TTL: r.TTL, Holder: r.Holder, Received: driver.Now()}
}

// WaitForGrant implements [quorumnode.Passer].
func (e *Engine) WaitForGrant(ctx context.Context, r quorumnode.Request) (granted quorumnode.Grant, _ error) {
	r.Join, r.MaxWaiters = true, 0
	var w *waiter
	for ctx.Err() == nil {
		start := driver.Now()
		var err error
		granted.Grant, w, err = e.takeOrRecall(&r)
		if err == nil {
			granted.Start = start
			return granted, nil
		}
		if passed := e.passedTo(&r); passed != nil {
			e.leave(r.Request) // it has joined once more
			return passed.granted(), nil
		}
		if held, lingers := errors.AsType[*driver.HeldError](err); r.Probe && !(lingers && held.Lingers) {
			e.leave(r.Request)
			return quorumnode.Grant{}, driver.ErrHeld
		}
		select {
		case <-w.ready:
			if w.grant.Token != 0 {
				return w.granted(), nil
			}
			// A Release removed the place: join again.
		case <-ctx.Done():
		}
	}
	e.leave(r.Request)
	if w != nil && w.grant.Owner != "" { // it holds as another one
		return w.granted(), nil
	}
	return quorumnode.Grant{}, driver.NoEffect(ctx.Err())
}

// passedTo returns the waiter to which a name was passed before it has called WaitForGrant, or nil.
func (e *Engine) passedTo(r *quorumnode.Request) *waiter {
	s := e.shard(r.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if en := s.entries[r.Name]; en != nil {
		for i := range en.holds {
			if w := en.holds[i].passed; w != nil && w.request.Owner == r.Owner {
				return w
			}
		}
	}
	return nil
}

// granted returns what the waiter was granted.
func (w *waiter) granted() quorumnode.Grant {
	return quorumnode.Grant{Grant: w.grant, Agreed: w.grant.Owner != "", Next: w.behind}
}
