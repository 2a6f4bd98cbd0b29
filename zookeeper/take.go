package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// tries is how often a request begins anew because the node of a name went or came in between.
const tries = 20

// waiterLife is how long a place outlives the last sign that somebody waits at it.
const waiterLife = 30 * time.Second

// Take implements [driver.Engine].
//
// A free name takes one round trip: the node of the name and the place in it are created together, which succeeds only if nobody is there.
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	from := driver.Now()
	if err := e.client.allows(r.TTL); err != nil {
		return driver.Grant{}, err
	}
	if err := e.client.assure(ctx, from, r.TTL); err != nil {
		return driver.Grant{}, err
	}
	c := claim{r.Key, idOf(r.Owner)}
	for range tries {
		g, err := e.take(ctx, &r, c, from)
		if !errors.Is(err, errGone) {
			return g, surprise(err)
		}
	}
	return driver.Grant{}, errTurmoil
}

// take is one try, for a lease from a moment on. It fails with errGone if what it has seen is gone meanwhile.
func (e *Engine) take(ctx context.Context, r *driver.Request, c claim, from driver.Instant) (driver.Grant, error) {
	p, doubt := e.places.find(c)
	if p == nil && doubt {
		var err error
		if p, err = e.recover(ctx, r, c); err != nil {
			return driver.Grant{}, err
		}
	}
	if p != nil {
		return e.retake(ctx, r, p, from)
	}
	if !r.Join || !e.places.crowded(r.Key) {
		p, err := e.settleIn(ctx, r, c)
		if err == nil {
			return e.grant(ctx, p, r.TTL, from)
		}
		if !errors.Is(err, zk.ErrNodeExists) {
			return driver.Grant{}, err
		}
	}
	if !r.Join {
		p, err := e.mayTry(ctx, r, c, doubt)
		switch {
		case err != nil:
			return driver.Grant{}, err
		case p != nil:
			return e.retake(ctx, r, p, from)
		}
	}
	p, err := e.join(ctx, r, c)
	if err != nil {
		return driver.Grant{}, err
	}
	return e.result(ctx, r, p, from, r.Waiters)
}

// settleIn takes a name that is free. It answers ErrNodeExists if it may not be.
func (e *Engine) settleIn(ctx context.Context, r *driver.Request, c claim) (*place, error) {
	for {
		p, at, err := e.sit(ctx, r, c, true)
		if at != 0 || !errors.Is(err, zk.ErrNoNode) {
			return p, err
		}
		if err := e.build(ctx, e.base(r.Kind)); err != nil {
			return nil, err
		}
	}
}

// join gets in line.
func (e *Engine) join(ctx context.Context, r *driver.Request, c claim) (*place, error) {
	p, _, err := e.sit(ctx, r, c, false)
	if errors.Is(err, zk.ErrNoNode) {
		e.places.quiet(r.Key)
		err = errGone
	}
	return p, err
}

// sit makes a place, alone in the node of the name, or behind others, and returns the one that the owner has by now. The token is the number of the
// transaction, which all of the nodes in it have as their czxid, and the written one as its mzxid.
func (e *Engine) sit(ctx context.Context, r *driver.Request, c claim, alone bool) (has *place, at int, err error) {
	p := &place{claim: c, parent: e.parent(r.Key), mode: modeOf(r), weight: r.Weight, size: r.Size, holder: r.Holder, ttl: millis(r.TTL)}
	begin := p.parent + "/" + stem(p.mode, p.weight, p.size, c.id, newNonce())
	ops := []any{
		&zk.CreateRequest{Path: begin, Data: p.record().bytes(), Acl: e.acl, Flags: zk.FlagEphemeral | zk.FlagSequence},
		&zk.SetDataRequest{Path: p.parent, Version: -1},
	}
	if alone {
		ops = append([]any{&zk.CreateRequest{Path: p.parent, Acl: e.acl}}, ops...)
	}
	var noted *place // by an answer that comes too late, too
	at, err = e.client.multi(ctx, func(made []zk.MultiResponse, session int64) {
		made = made[len(made)-2:]
		p.name = made[0].String[len(p.parent)+1:]
		p.token = uint64(made[1].Stat.Mzxid)
		p.session = session
		noted = e.note(p, alone, r.TTL)
		e.client.setClock(made[1].Stat)
	}, ops...)
	switch {
	case err == nil && noted.token > driver.MaxToken:
		e.abandon(noted)
		return nil, at, errSpent
	case err == nil:
		return noted, at, nil
	case !driver.HadNoEffect(err) && !isAnswer(err):
		e.places.doubt(c)
	}
	return nil, at, err
}

// note adds a place, and has it removed if the owner has an earlier one, which is the one that is returned.
func (e *Engine) note(p *place, alone bool, ttl time.Duration) (has *place) {
	has = e.places.add(p, alone)
	if has.name != p.name {
		e.abandon(p)
	}
	e.keepAlive(has, max(ttl, waiterLife))
	return has
}

// build makes a node and all above it, as far as they are missing.
func (e *Engine) build(ctx context.Context, path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		stat, err := e.client.exists(ctx, path[:i])
		if err == nil && stat == nil {
			err = e.client.create(ctx, path[:i], e.acl)
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// result says what has become of a place, which does not stay if nobody wants to wait there, or if as many wait before it as may. Of several who join at
// once each sees who has come before, so there are never more who stay; for a moment there are those who are sent away.
func (e *Engine) result(ctx context.Context, r *driver.Request, p *place, from driver.Instant, most int) (driver.Grant, error) {
	v, err := e.consider(ctx, p)
	switch {
	case err != nil:
		return driver.Grant{}, undecided(err) // the place stays
	case v.holds:
		return e.grant(ctx, p, r.TTL, from)
	}
	e.places.crowd(r.Key)
	crowded := r.Join && most > 0 && v.before >= most
	if !r.Join || crowded {
		if err := e.leave(ctx, p); err != nil && !errors.Is(err, errGone) {
			return driver.Grant{}, driver.Spent(undecided(err)) // the place may stand in its owner's way for a moment
		}
	}
	if crowded {
		return driver.Grant{}, driver.ErrCrowded
	}
	return driver.Grant{}, driver.ErrHeld
}

// grant makes a holder of a place, for a lease from a moment on. The session may have to be made sure of again, if the connection has changed.
func (e *Engine) grant(ctx context.Context, p *place, ttl time.Duration, from driver.Instant) (driver.Grant, error) {
	for range tries {
		g, err := e.granted(p, ttl, from)
		if !errors.Is(err, errUnsure) {
			return g, err
		}
		if err = e.client.assure(ctx, from, ttl); err == nil {
			err = e.confirm(ctx, p)
		}
		if err != nil {
			return driver.Grant{}, undecided(err)
		}
	}
	return driver.Grant{}, errUnsure
}

// granted makes a holder of a place, for a lease from a moment on, if the session surely lasts for so long.
func (e *Engine) granted(p *place, ttl time.Duration, from driver.Instant) (driver.Grant, error) {
	session, lasts := e.client.current()
	sure := e.client.remains(p.session, from)
	e.places.mu.Lock()
	defer e.places.mu.Unlock()
	switch {
	case p.gone || p.session != session:
		return driver.Grant{}, errGone
	case ttl > lasts: // since a moment ago
		return driver.Grant{}, undecided(errShorter)
	case ttl > sure:
		return driver.Grant{}, errUnsure
	}
	first := !p.granted
	p.granted = true
	e.extend(p, ttl, first)
	return driver.Grant{Token: p.token, Tokens: 1}, nil
}

// retake is for an owner that has a place already.
func (e *Engine) retake(ctx context.Context, r *driver.Request, p *place, from driver.Instant) (driver.Grant, error) {
	if err := e.confirm(ctx, p); err != nil {
		return driver.Grant{}, err
	}
	e.places.mu.Lock()
	granted := p.granted
	e.places.mu.Unlock()
	if !granted {
		return e.result(ctx, r, p, from, 0)
	}
	return e.grant(ctx, p, r.TTL, from)
}
