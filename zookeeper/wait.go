package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// slowLook is how often one who waits looks although nothing has happened, so that a message that is lost costs that much and no more. It must be
// less than waiterLife.
const slowLook = 10 * time.Second

// Wait implements [driver.Engine]. It watches the place that must go before it can be its turn, and its own.
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.Waiters = true, 0
	c := claim{r.Key, idOf(r.Owner)}
	for {
		if err := e.client.allows(r.TTL); err != nil {
			return driver.Grant{}, err
		}
		p, _ := e.places.find(c)
		if p == nil || !e.isWaiting(p) {
			start := driver.Now()
			g, err := e.Take(ctx, r)
			if err == nil {
				g.Start = start
			}
			if !errors.Is(err, driver.ErrHeld) {
				return g, err
			}
			continue
		}
		g, err := e.await(ctx, &r, p)
		if !errors.Is(err, errGone) {
			return g, err
		}
	}
}

// isWaiting reports whether a place was looked at, and was no holder's.
func (e *Engine) isWaiting(p *place) bool {
	e.places.mu.Lock()
	defer e.places.mu.Unlock()
	return !p.gone && !p.granted && p.seen
}

// await waits at a place. It answers errGone if the place is gone.
func (e *Engine) await(ctx context.Context, r *driver.Request, p *place) (driver.Grant, error) {
	w := &vigil{e: e, p: p}
	for {
		e.keepAlive(p, max(r.TTL, waiterLife))
		e.places.mu.Lock()
		v := p.verdict
		e.places.mu.Unlock()
		free, err := w.sleep(ctx, v)
		if free {
			if g, err := e.enter(p, r.TTL, r.TTL/2); err == nil {
				return g, nil
			}
		}
		if err == nil || errors.Is(err, errGone) {
			v, err = e.consider(ctx, p)
		}
		if err == nil && v.holds {
			return e.arrive(ctx, p, r.TTL)
		}
		switch {
		case ctx.Err() != nil:
			return driver.Grant{}, driver.NoEffect(ctx.Err()) // what is under way only looks
		case errors.Is(err, errGone) && !e.isWaiting(p):
			return driver.Grant{}, errGone
		case err != nil && !errors.Is(err, errGone) && !errors.Is(err, zk.ErrConnectionClosed):
			return driver.Grant{}, surprise(err)
		}
		// After the end of a connection it goes on with the next one: what was asked only looked.
	}
}

// arrive makes a holder of one whose turn it is, once it is known that the session lasts for a while. The look may have been at old data: a majority
// agrees that the place is still there.
func (e *Engine) arrive(ctx context.Context, p *place, ttl time.Duration) (driver.Grant, error) {
	g, err := e.enter(p, ttl, ttl/2)
	if err == nil {
		return g, nil
	}
	if err = e.client.assure(ctx, driver.Now(), ttl); err == nil {
		err = e.confirm(ctx, p)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = driver.NoEffect(ctx.Err())
		}
		return g, err
	}
	if g, err = e.enter(p, ttl, 1); err != nil {
		err = errGone
	}
	return g, err
}

// errUnsure says that it is not known whether the session lasts for long enough.
var errUnsure = errors.New("zookeeper: it is not known whether the session lasts for as long as the lease: try again")

// enter makes a holder of one whose turn it is, without asking a server, if its session surely lasts for a while: for so long at least. The lease is as
// long as that, for the beginning.
func (e *Engine) enter(p *place, ttl, least time.Duration) (driver.Grant, error) {
	start := driver.Now()
	sure := e.client.remains(p.session, start)
	if sure < least {
		return driver.Grant{}, errUnsure
	}
	g, err := e.granted(p, min(ttl, sure), start)
	g.Start, g.TTL = start, min(ttl, sure)
	return g, err
}
