package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// Renew implements [driver.Engine]. A majority agrees that the places are all there, in one transaction. If they are not, each is looked at.
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	from := driver.Now()
	var most time.Duration
	held := make([]*place, len(batch))
	var at []int
	for i, r := range batch {
		p, _ := e.places.find(claim{r.Key, idOf(r.Owner)})
		if p == nil {
			report(i, driver.ErrNotHeld)
		} else if err := e.client.allows(r.TTL); err != nil {
			report(i, err)
		} else {
			held[i] = p
			at = append(at, i)
			most = max(most, r.TTL)
		}
	}
	if len(at) == 0 {
		return
	}
	if err := e.client.assure(ctx, from, most); err != nil {
		for _, i := range at {
			report(i, err)
		}
		return
	}
	parts := pieces(held, at)
	each(len(parts), func(n int) {
		part := parts[n]
		paths := make([]string, len(part))
		for j, i := range part {
			paths[j] = held[i].path()
		}
		all, err := e.client.agree(ctx, paths...)
		if err != nil {
			for _, i := range part {
				report(i, surprise(err))
			}
			return
		}
		each(len(part), func(j int) {
			i := part[j]
			report(i, e.renew(ctx, held[i], batch[i], from, all))
		})
	})
}

// renew extends a lease, once a majority has agreed that the session lives, and perhaps that the place is there.
func (e *Engine) renew(ctx context.Context, p *place, r driver.Renewal, from driver.Instant, there bool) error {
	if !there {
		stat, err := e.client.exists(ctx, p.path())
		if err != nil {
			return surprise(err)
		}
		there = stat != nil
	}
	if session, _ := e.client.current(); !there || session != p.session {
		e.drop(p)
		return driver.ErrNotHeld
	}
	if e.client.remains(p.session, from) < r.TTL {
		return errUnsure // the connection has changed
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
