package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// Renew implements [driver.Engine]. One sync for all makes the leader hear of the session, and the server that is asked as new as this call. Then each
// place is looked at.
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	held := make([]*place, len(batch))
	var at []int
	_, lasts := e.client.current()
	for i, r := range batch {
		p, _ := e.places.find(claim{r.Key, idOf(r.Owner)})
		switch {
		case p == nil:
			report(i, driver.ErrNotHeld)
		case r.TTL > lasts && lasts > 0:
			report(i, errShorter)
		default:
			held[i] = p
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return
	}
	if err := e.client.sync(ctx, e.prefix); err != nil {
		for _, i := range at {
			report(i, err)
		}
		return
	}
	each(len(at), func(n int) {
		i := at[n]
		report(i, e.renew(ctx, held[i], batch[i]))
	})
}

func (e *Engine) renew(ctx context.Context, p *place, r driver.Renewal) error {
	stat, err := e.client.exists(ctx, p.path())
	if err != nil {
		return surprise(err)
	}
	if stat == nil || stat.EphemeralOwner != p.session {
		e.drop(p)
		return driver.ErrNotHeld
	}
	e.places.mu.Lock()
	defer e.places.mu.Unlock()
	if p.gone || !p.granted {
		return driver.ErrNotHeld
	}
	e.extend(p, r.TTL, false)
	return nil
}

// Downgrade implements [driver.Downgrader]. Those who wait for the writer watch its place, and so hear of it.
func (e *Engine) Downgrade(ctx context.Context, h driver.Hold) error {
	p, _ := e.places.find(claim{h.Key, idOf(h.Owner)})
	if p == nil {
		return driver.ErrNotHeld
	}
	e.places.mu.Lock()
	r := p.record()
	granted := p.granted && !p.gone
	e.places.mu.Unlock()
	if !granted {
		return driver.ErrNotHeld
	}
	r.Shared = true
	_, err := e.client.set(ctx, p.path(), r.bytes())
	switch {
	case errors.Is(err, zk.ErrNoNode):
		e.drop(p)
		return driver.ErrNotHeld
	case err == nil:
		e.places.mu.Lock()
		p.downgraded = true
		e.places.mu.Unlock()
	}
	return surprise(err)
}
