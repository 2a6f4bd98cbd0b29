package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// Release implements [driver.Engine]. The key is the owner's alone, so a release that is repeated, or comes late, never touches what
// another has got meanwhile.
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	m, err := e.members.enter(ctx, r.Key, r.Owner)
	if err != nil {
		return err
	}
	defer e.members.leave(m)
	if r.Keep > 0 {
		return e.keep(ctx, r, m)
	}
	known := e.members.created(m)
	held, kept, err := e.remove(ctx, r.Hold, m)
	if err != nil {
		return err
	}
	if !kept {
		e.members.gone(m, known)
	}
	if !held {
		return driver.ErrNotHeld
	}
	return nil
}

// remove removes an owner's key unless it is kept, and reports whether the owner held.
func (e *Engine) remove(ctx context.Context, h driver.Hold, m *member) (held, kept bool, err error) {
	del := ops(opDelete(m.path))
	if lease := e.members.holdsOn(m, h.Token); lease != clientv3.NoLease {
		// A key that is kept is on another lease.
		t, err := e.txn(ctx, all(onLease(m.path, lease)), del, nil)
		if err != nil || t.Succeeded {
			return err == nil, false, err
		}
	}
	s := e.places(h.Key)
	// Whether the owner held says the line as it was before.
	t, err := e.txn(ctx, nil, ops(opRange(s), opTxn(owned(m.path), del, nil)), nil)
	if err != nil {
		return false, false, err
	}
	l := readLine(t.Responses[0].GetResponseRange().Kvs)
	own, held := l.owned(h.Kind, m.path)
	return held, own == nil && l.find(m.path) >= 0, nil
}

// keep leaves a place to nobody, on a session of its own.
func (e *Engine) keep(ctx context.Context, r driver.Release, m *member) error {
	for range tries {
		l, _, err := e.look(ctx, r.Key)
		if err != nil {
			return err
		}
		own, holds := l.owned(r.Kind, m.path)
		if !holds {
			known := e.members.created(m)
			if own == nil {
				return driver.ErrNotHeld
			}
			if _, _, err := e.remove(ctx, r.Hold, m); err != nil {
				return err
			}
			e.members.gone(m, known)
			return driver.ErrNotHeld
		}
		s, err := e.grant(ctx, class(r.Keep))
		if err != nil {
			return err
		}
		if err := e.members.puts(m, r.Keep, s); err != nil {
			return err
		}
		left := own.card
		left.state, left.ttl = left.state.kept(), r.Keep
		t, err := e.txn(ctx, all(own.unchanged()), ops(opPut(m.path, left, s.id)), nil)
		switch {
		case err != nil:
			return err
		case t.Succeeded:
			return e.members.keeps(m, own.created, s, r.Keep)
		}
	}
	return errBusy
}
