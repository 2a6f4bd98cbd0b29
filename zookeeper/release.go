package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// Release implements [driver.Engine]. It takes one round trip if nobody else waits. If its connection ends, it goes on with the next one.
//
// With Keep, a place that is no session's takes the place of the one that is released, in the same step and in the same order.
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	c := claim{r.Key, idOf(r.Owner)}
	p, doubt := e.places.find(c)
	if p == nil || doubt {
		return surprise(persist(ctx, func() error { return e.search(ctx, r, c) }))
	}
	e.places.mu.Lock()
	held := p.granted
	e.places.mu.Unlock()
	var err error
	if held && r.Keep > 0 {
		err = e.keep(ctx, p, r.Keep)
	} else {
		err = e.leave(ctx, p)
	}
	switch {
	case errors.Is(err, errGone), err == nil && !held:
		return driver.ErrNotHeld
	}
	return surprise(err)
}

// leave removes a place. It answers errGone if it is not there any more. Nobody holds or waits at it from now on, whenever the removal arrives: if that is not
// known to have been, it is tried again in the background.
func (e *Engine) leave(ctx context.Context, p *place) error {
	crowded := e.places.doom(p)
	err := persist(ctx, func() error { return gone(e.free(ctx, p.parent, p.name, crowded || e.places.crowded(p.Key))) })
	if err == nil || errors.Is(err, errGone) {
		e.places.removed(p.name)
		e.ends.Remove(p)
	} else {
		e.abandon(p)
	}
	return err
}

// free removes a place, and the node of the name if nobody else is there. If others probably are, that is left for later.
func (e *Engine) free(ctx context.Context, parent, name string, crowded bool) error {
	path := parent + "/" + name
	if !crowded {
		_, err := e.client.multi(ctx, nil, &zk.DeleteRequest{Path: path, Version: -1}, &zk.DeleteRequest{Path: parent, Version: -1})
		if !errors.Is(err, zk.ErrNotEmpty) {
			return err
		}
	}
	err := e.client.remove(ctx, path)
	e.empties.Set(parent, time.Now().Add(tidyAfter))
	return err
}

// search releases whatever the servers have of an owner. It is for takes whose outcome is not known here.
func (e *Engine) search(ctx context.Context, r driver.Release, c claim) error {
	parent := e.parent(r.Key)
	if err := e.client.catchUp(ctx, parent); err != nil {
		return err
	}
	seats, err := e.look(ctx, r.Key)
	if err != nil && !errors.Is(err, errGone) {
		return err
	}
	holders, err := e.holding(ctx, r.Key, seats)
	if err != nil {
		return err
	}
	held := false
	for i, s := range seats {
		if s.id != c.id || s.kept {
			continue
		}
		p := &place{claim: c, parent: parent, name: s.name, mode: s.mode, weight: s.weight, size: s.size, waited: true}
		holds := i < holders
		if holds && r.Keep > 0 {
			err = e.keepFound(ctx, p, r.Keep)
		} else {
			err = gone(e.free(ctx, parent, s.name, len(seats) > 1))
		}
		switch {
		case err == nil:
			held = held || holds
		case !errors.Is(err, errGone):
			return err
		}
	}
	if p, _ := e.places.find(c); p != nil {
		e.drop(p)
	}
	e.places.settle(c)
	if !held {
		return driver.ErrNotHeld
	}
	return nil
}

// keepFound is keep for a place that was not known here.
func (e *Engine) keepFound(ctx context.Context, p *place, d time.Duration) error {
	data, stat, err := e.client.get(ctx, p.path())
	if err != nil {
		return gone(err)
	}
	r := recordOf(data)
	p.holder, p.downgraded, p.token = r.Holder, r.Shared, uint64(stat.Czxid)
	return e.keep(ctx, p, d)
}

// keep puts a place that stays by itself where one was. Writing to the one that goes wakes those who watch it with the news that it has changed, not that
// it has gone: they look before they take it for theirs.
func (e *Engine) keep(ctx context.Context, p *place, d time.Duration) error {
	e.places.mu.Lock()
	k := &place{claim: p.claim, parent: p.parent, name: keptMark + p.name, kept: true, waited: true}
	if p.downgraded {
		k.name = keptMark + string(rune(shared)) + p.name[1:]
	}
	r := record{Holder: p.holder, TTL: millis(d), Token: p.token}
	e.places.mu.Unlock()
	err := persist(ctx, func() error {
		_, err := e.client.multi(ctx, func([]zk.MultiResponse, int64) {
			e.places.mu.Lock()
			defer e.places.mu.Unlock()
			e.extend(k, d, true)
		},
			&zk.SetDataRequest{Path: p.path(), Version: -1},
			&zk.CreateRequest{Path: k.path(), Data: r.bytes(), Acl: e.acl},
			&zk.DeleteRequest{Path: p.path(), Version: -1},
		)
		return gone(err)
	})
	if err == nil || errors.Is(err, errGone) {
		e.drop(p)
	}
	return err
}
