package leasehold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// takeAll tries once to take all locks in one request. Without a set and an error, they are to be taken one after the
// other; with a.turn, the caller then still has the turn of the first one's local queue, and so has lost no place in it.
func (c *Client) takeAll(ctx context.Context, locks []*lock, a *ask) (*LeaseSet, error) {
	engine, ok := c.engine.(driver.AllTaker)
	first := locks[0]
	if !ok || !c.abilities.All || len(locks) < 2 || first.ended(ctx, "", nil) != nil || slices.ContainsFunc(locks, func(l *lock) bool { return l.entered(ctx) }) {
		return nil, nil
	}
	if err := c.begins(first, a.op, len(locks)); err != nil {
		first.tellFailed(ctx, a, err)
		return nil, err
	}
	uncounted := len(locks)
	defer func() { c.ends(uncounted) }()
	for i, l := range locks {
		if !c.queue.Try(l.key) {
			c.turnsDone(locks[min(1, i):i])
			a.turn = i > 0
			return nil, nil
		}
	}
	waiting, cancel := first.patience(ctx)
	defer cancel()
	holds := make([]*hold, len(locks))
	for i, l := range locks {
		holds[i] = newHold(l, a, true)
	}
	start := driver.Now()
	grants, err := c.sendAll(waiting, engine, holds)
	if errors.Is(err, driver.ErrHeld) || errors.Is(err, driver.ErrApart) {
		c.turnsDone(locks[1:])
		a.turn, a.heard = true, errors.Is(err, driver.ErrHeld)
		return nil, nil
	}
	touched := !driver.HadNoEffect(err)
	set, err := grantAll(ctx, a, holds, grants, start, err)
	uncounted -= len(set.leases)
	if err == nil {
		return set, nil
	}
	rest := holds[len(set.leases):]
	over := rest[0].lock.ended(waiting, a.op, errUnheard)
	if over == nil {
		over = rest[0].lock.failure(a.op, ErrUnavailable, err)
	}
	if touched {
		abandonAll(rest)
	}
	c.turnsDone(locks[len(set.leases):])
	rest[0].lock.tellFailed(ctx, a, over)
	set.Release()
	return nil, over
}

// entered reports whether ctx comes from the context of a lease on the name, which is then entered again.
func (l *lock) entered(ctx context.Context) bool { return ctx.Value(l) != nil }

func (c *Client) turnsDone(locks []*lock) {
	for _, l := range locks {
		c.queue.Done(l.key)
	}
}

// sendAll sends one request for all holds.
func (c *Client) sendAll(ctx context.Context, engine driver.AllTaker, holds []*hold) ([]driver.Grant, error) {
	batch := make([]driver.Request, len(holds))
	ttl := MaxTTL
	for i, h := range holds {
		batch[i] = h.request()
		ttl = min(ttl, batch[i].TTL)
	}
	var grants []driver.Grant
	var err error
	if c.abilities.Local {
		grants, err = engine.TakeAll(ctx, batch)
	} else {
		gate := c.gates.of(batch[0].Key) // an engine takes only names of one server in one step
		limit, held := c.letIn(ctx, gate, c.limit(validity(ttl)))
		if held != nil {
			return nil, held
		}
		sent := make([]sending, len(holds))
		for i, h := range holds {
			sent[i] = h.sends()
		}
		grants, err = request(ctx, c, limit, func(ctx context.Context) ([]driver.Grant, error) {
			return engine.TakeAll(ctx, batch)
		}, func(grants []driver.Grant, err error) {
			for i, s := range sent {
				var g driver.Grant
				if i < len(grants) {
					g = grants[i]
				}
				s.late(g, err)
			}
		})
		gate.leave(c.renewer.now(), err == nil || driver.IsNo(err))
		for _, h := range holds {
			h.note(err, h.lock.ttl)
		}
	}
	if err == nil && len(grants) != len(batch) {
		err = fmt.Errorf("the engine answered %d grants to %d requests", len(grants), len(batch))
	}
	return grants, err
}

// grantAll makes leases of grants, each under the context of the one before. With an error, which may be that of the request,
// the set has the leases of those before the first hold for which there is none.
func grantAll(ctx context.Context, a *ask, holds []*hold, grants []driver.Grant, start driver.Instant, err error) (*LeaseSet, error) {
	set := new(LeaseSet)
	if err != nil {
		return set, err
	}
	for i, h := range holds {
		from := start
		if !grants[i].Start.IsZero() {
			from = grants[i].Start
		}
		if err := h.admit(grants[i], from); err != nil {
			return set, err
		}
		lease := h.lock.granted(ctx, a, gift{hold: h, tenure: h.tenure, token: h.token}, false)
		set.leases = append(set.leases, lease)
		ctx = lease.Context()
	}
	return set, nil
}

// abandonAll ends attempts that lead to nothing, all at the same time: once the client is closed, each of them waits for its release.
func abandonAll(holds []*hold) {
	var work sync.WaitGroup
	for _, h := range holds {
		work.Go(h.abandon)
	}
	work.Wait()
}
