package etcd

import (
	"context"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
)

// Release implements [driver.Engine]. The key is the owner's alone as long as a request may be in flight. So a release
// that is repeated or arrives late never touches what another owner has got meanwhile.
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	owned, err := e.ownedKeys.beginCall(ctx, r.Key, r.Owner)
	if err != nil {
		return err
	}
	defer e.ownedKeys.endCall(owned)
	if r.Keep > 0 {
		return e.keep(ctx, r, owned)
	}
	known := e.ownedKeys.createdRevision(owned)
	held, kept, err := e.remove(ctx, r.Hold, owned)
	if err != nil {
		return err
	}
	if !kept {
		e.ownedKeys.noteGone(owned, known)
	}
	if !held {
		return driver.ErrNotHeld
	}
	return nil
}

// remove removes an owner's key unless it is kept, and reports whether the owner was a holder.
func (e *Engine) remove(ctx context.Context, h driver.Hold, owned *ownedKey) (held, kept bool, err error) {
	path, created, granted := e.ownedKeys.knownKey(owned, h.Token)
	if granted { // without a condition, since servers before 3.5 take long for transactions when they are busy
		n, err := e.deleteKey(ctx, path)
		if err != nil && !driver.HadNoEffect(err) {
			e.ownedKeys.noteUnknownRemoval(owned)
		}
		return n > 0, false, err
	}
	kr := e.entryRange(h.Key)
	if created != 0 {
		t, err := e.txn(ctx, all(compareCreatedAt(path, created)), ops(opRange(kr), opDelete(path)), nil)
		if err != nil || t.Succeeded {
			return heldBefore(t, h.Kind, owned.mark), false, err
		}
	}
	for range maxTries {
		q, _, err := e.fetchQueue(ctx, h.Key)
		if err != nil {
			return false, false, err
		}
		mine := slices.DeleteFunc(slices.Clone(q), func(en entry) bool {
			return en.mark != owned.mark || !en.state.isOwned()
		})
		if len(mine) == 0 {
			return false, q.indexOfOwner(owned.mark) >= 0, nil
		}
		cmps, removals := all(), ops(opRange(kr))
		for _, en := range mine {
			cmps, removals = append(cmps, en.compareUnchanged()), append(removals, opDelete(en.path))
		}
		t, err := e.txn(ctx, cmps, removals, nil)
		if err != nil || t.Succeeded {
			return heldBefore(t, h.Kind, owned.mark), false, err
		}
	}
	return false, false, errBusy
}

// heldBefore reports whether an owner was a holder just before the transaction that removed its key.
func heldBefore(t *pb.TxnResponse, kind driver.Kind, mark string) bool {
	if t == nil {
		return false
	}
	_, held := readQueue(t.Responses[0].GetResponseRange().Kvs).findOwned(kind, mark)
	return held
}

// keep leaves an entry without an owner, on an etcd lease of its own. Nobody keeps that lease alive, so no member can
// end it too early.
func (e *Engine) keep(ctx context.Context, r driver.Release, owned *ownedKey) error {
	for range maxTries {
		q, _, err := e.fetchQueue(ctx, r.Key)
		if err != nil {
			return err
		}
		own, holds := q.findOwned(r.Kind, owned.mark)
		if !holds {
			known := e.ownedKeys.createdRevision(owned)
			if own == nil {
				return driver.ErrNotHeld
			}
			if _, _, err := e.remove(ctx, r.Hold, owned); err != nil {
				return err
			}
			e.ownedKeys.noteGone(owned, known)
			return driver.ErrNotHeld
		}
		lease, _, err := e.grantEtcdLease(ctx, certainSeconds(r.Keep))
		if err != nil {
			return err
		}
		if _, err := e.ownedKeys.preparePutOn(owned, r.Keep, lease); err != nil {
			return err
		}
		e.ownedKeys.noteMayBeKept(owned)
		left := own.record.withoutSession()
		left.state, left.ttl = left.state.asKept(), r.Keep
		t, err := e.txn(ctx, all(own.compareUnchanged()), ops(opPut(own.path, left, lease)), nil)
		switch {
		case err != nil:
			return err
		case t.Succeeded:
			return e.ownedKeys.noteKept(owned, own, lease, r.Keep)
		}
	}
	return errBusy
}
