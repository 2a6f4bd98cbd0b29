package etcd

import (
	"context"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// ForceRelease implements [driver.Operator]. It also removes an entry that is kept after a release.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	if token == 0 || token > driver.MaxToken {
		return driver.ErrNotHeld
	}
	q, _, err := e.fetchQueue(ctx, k)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(q, func(en entry) bool { return en.created == int64(token) })
	if i < 0 || i >= q.holderCount(k.Kind) { // waiters have no token yet
		return driver.ErrNotHeld
	}
	t, err := e.txn(ctx, all(compareCreatedAt(q[i].path, q[i].created)), ops(opDelete(q[i].path)), nil)
	if err == nil && !t.Succeeded {
		err = driver.ErrNotHeld
	}
	return err
}

// Downgrade implements [driver.Engine].
func (e *Engine) Downgrade(ctx context.Context, h driver.Hold) error {
	mark := ownerMark(h.Owner)
	for range maxTries {
		q, _, err := e.fetchQueue(ctx, h.Key)
		if err != nil {
			return err
		}
		own, holds := q.findOwned(h.Kind, mark)
		switch {
		case !holds:
			return driver.ErrNotHeld
		case own.state == shared:
			return nil
		}
		rec := own.record
		rec.state = shared
		t, err := e.txn(ctx, all(own.compareUnchanged()), ops(opPut(own.path, rec, own.etcdLease)), nil)
		if err != nil || t.Succeeded {
			return err
		}
	}
	return errBusy
}
