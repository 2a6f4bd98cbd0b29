package etcd

import (
	"context"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
)

// Release implements [driver.Engine]. The key is the owner's alone as long as a request may be under way, so a release that is repeated, or
// comes late, never touches what another has got meanwhile.
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
	path, created, granted := e.members.known(m, h.Token)
	if granted { // without a condition, which servers before 3.5 take long for when they are busy
		n, err := e.deletes(ctx, path)
		if err != nil && !driver.HadNoEffect(err) {
			e.members.removes(m)
		}
		return n > 0, false, err
	}
	s := e.places(h.Key)
	if created != 0 {
		t, err := e.txn(ctx, all(createdAt(path, created)), ops(opRange(s), opDelete(path)), nil)
		if err != nil || t.Succeeded {
			return heldBefore(t, h.Kind, m.mark), false, err
		}
	}
	for range tries {
		l, _, err := e.look(ctx, h.Key)
		if err != nil {
			return false, false, err
		}
		mine := slices.DeleteFunc(slices.Clone(l), func(p place) bool { return p.mark != m.mark || !p.state.owned() })
		if len(mine) == 0 {
			return false, l.find(m.mark) >= 0, nil
		}
		cmps, removals := all(), ops(opRange(s))
		for _, p := range mine {
			cmps, removals = append(cmps, p.unchanged()), append(removals, opDelete(p.path))
		}
		t, err := e.txn(ctx, cmps, removals, nil)
		if err != nil || t.Succeeded {
			return heldBefore(t, h.Kind, m.mark), false, err
		}
	}
	return false, false, errBusy
}

// heldBefore reports whether an owner held as a transaction began that has removed its key.
func heldBefore(t *pb.TxnResponse, kind driver.Kind, mark string) bool {
	if t == nil {
		return false
	}
	_, held := readLine(t.Responses[0].GetResponseRange().Kvs).owned(kind, mark)
	return held
}

// keep leaves a place to nobody, on a lease of its own, which nobody keeps alive: no member can think that it is over before it is.
func (e *Engine) keep(ctx context.Context, r driver.Release, m *member) error {
	for range tries {
		l, _, err := e.look(ctx, r.Key)
		if err != nil {
			return err
		}
		own, holds := l.owned(r.Kind, m.mark)
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
		lease, _, err := e.lease(ctx, surely(r.Keep))
		if err != nil {
			return err
		}
		if _, err := e.members.putsOn(m, r.Keep, lease); err != nil {
			return err
		}
		e.members.leaves(m)
		left := own.card.ends()
		left.state, left.ttl = left.state.kept(), r.Keep
		t, err := e.txn(ctx, all(own.unchanged()), ops(opPut(own.path, left, lease)), nil)
		switch {
		case err != nil:
			return err
		case t.Succeeded:
			return e.members.keeps(m, own, lease, r.Keep)
		}
	}
	return errBusy
}
