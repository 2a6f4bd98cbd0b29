package etcd

import (
	"context"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// ForceRelease implements [driver.Forcer]. A place that is kept is its holder's, too.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	if token == 0 || token > driver.MaxToken {
		return driver.ErrNotHeld
	}
	l, _, err := e.look(ctx, k)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(l, func(p place) bool { return p.created == int64(token) })
	if i < 0 || i >= l.inside(k.Kind) { // those who wait have no token yet
		return driver.ErrNotHeld
	}
	t, err := e.txn(ctx, all(createdAt(l[i].path, l[i].created)), ops(opDelete(l[i].path)), nil)
	if err == nil && !t.Succeeded {
		err = driver.ErrNotHeld
	}
	return err
}

// Downgrade implements [driver.Downgrader].
func (e *Engine) Downgrade(ctx context.Context, h driver.Hold) error {
	mark := markOf(h.Owner)
	for range tries {
		l, _, err := e.look(ctx, h.Key)
		if err != nil {
			return err
		}
		own, holds := l.owned(h.Kind, mark)
		switch {
		case !holds:
			return driver.ErrNotHeld
		case own.state == shared:
			return nil
		}
		c := own.card
		c.state = shared
		t, err := e.txn(ctx, all(own.unchanged()), ops(opPut(own.path, c, own.lease)), nil)
		if err != nil || t.Succeeded {
			return err
		}
	}
	return errBusy
}
