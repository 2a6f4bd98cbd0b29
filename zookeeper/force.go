package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// ForceRelease implements [driver.Forcer]. The name of a place never comes again, so what is removed is the one that was looked at.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	if kinds[k.Kind] == "" {
		return driver.ErrNotHeld
	}
	parent := e.parent(k)
	if err := e.client.catchUp(ctx, parent); err != nil {
		return err
	}
	held, _, err := e.holders(ctx, k)
	if err != nil && !errors.Is(err, errGone) {
		return surprise(err)
	}
	for _, h := range held {
		if h.token() != token {
			continue
		}
		err := e.free(ctx, parent, h.name, true)
		if errors.Is(err, zk.ErrNoNode) {
			return driver.ErrNotHeld
		}
		return surprise(err)
	}
	return driver.ErrNotHeld
}

// occupied is a place with all that the servers know of it.
type occupied struct {
	seat
	record
	stat *zk.Stat
}

// token is the one with which a place was granted.
func (o *occupied) token() uint64 {
	if o.kept {
		return o.record.Token
	}
	return uint64(o.stat.Czxid)
}

// holders returns those who hold, and the places of those who wait, in order. Kept places that are over still count as holders.
func (e *Engine) holders(ctx context.Context, k driver.Key) (held []*occupied, waiting []seat, err error) {
	seats, err := e.look(ctx, k)
	if err != nil || len(seats) == 0 {
		return nil, nil, err
	}
	n, err := e.holding(ctx, k, seats)
	if err != nil {
		return nil, nil, err
	}
	held, err = e.inspect(ctx, k, seats[:n])
	return held, seats[n:], err
}

// holding returns how many of a queue hold, as [holding] does, once it has asked whether the first one is content to be a reader, if that matters.
func (e *Engine) holding(ctx context.Context, k driver.Key, seats []seat) (int, error) {
	if len(seats) < 2 || seats[0].mode != exclusive || seats[1].mode != shared {
		return holding(seats, false), nil
	}
	first, err := e.inspect(ctx, k, seats[:1])
	return holding(seats, len(first) > 0 && first[0].Shared), err
}

// inspect reads places. Those that are gone meanwhile are left out.
func (e *Engine) inspect(ctx context.Context, k driver.Key, seats []seat) ([]*occupied, error) {
	parent := e.parent(k)
	found := make([]*occupied, len(seats))
	errs := make([]error, len(seats))
	each(len(seats), func(i int) {
		data, stat, err := e.client.get(ctx, parent+"/"+seats[i].name)
		switch {
		case err == nil:
			found[i] = &occupied{seats[i], recordOf(data), stat}
		case !errors.Is(err, zk.ErrNoNode):
			errs[i] = err
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := found[:0]
	for _, o := range found {
		if o != nil {
			all = append(all, o)
		}
	}
	return all, nil
}
