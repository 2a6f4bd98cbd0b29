package etcd

import (
	"context"
	"errors"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/leasehold-go/leasehold/driver"
)

// maxTakeAll is how many locks one transaction takes. Servers allow 128 operations and 128 conditions per transaction,
// and some conditions are needed for sessions.
const maxTakeAll = 120

// TakeAll implements [driver.AllTaker] with one transaction for up to 120 names, and a second one if some of the owners
// are holders already.
func (e *Engine) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	if len(batch) > maxTakeAll {
		return nil, driver.ErrNotTogether
	}
	a := takeAllAttempt{e: e, batch: batch}
	defer a.endCalls()
	for _, r := range batch {
		owned, err := e.ownedKeys.beginCall(ctx, r.Key, r.Owner)
		if err != nil {
			return nil, err
		}
		a.owned = append(a.owned, owned)
	}
	for range maxTries {
		grants, err := a.send(ctx)
		switch {
		case errors.Is(err, rpctypes.ErrTooManyOps):
			return nil, driver.ErrNotTogether
		case !errors.Is(err, errChanged):
			return grants, err
		}
	}
	return nil, errBusy
}

// takeAllAttempt is one call of TakeAll.
type takeAllAttempt struct {
	e          *Engine
	batch      []driver.Request
	owned      []*ownedKey
	ownEntries []*entry // entries of owners that are holders already, as read from the server; empty before that

	sessions []*session
	paths    []string
	start    driver.Instant
}

func (a *takeAllAttempt) endCalls() {
	for _, owned := range a.owned {
		a.e.ownedKeys.endCall(owned)
	}
}

// send sends one transaction. The error is errChanged if another try may get another answer.
func (a *takeAllAttempt) send(ctx context.Context) ([]driver.Grant, error) {
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	cmps, puts, reads := a.transaction()
	t, err := a.e.txn(ctx, cmps, puts, reads)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		a.e.sessions.noteGone(a.sessions...)
		return nil, errChanged
	case err != nil:
		if !driver.HadNoEffect(err) {
			for i, owned := range a.owned {
				a.e.ownedKeys.noteUnknownPut(owned, a.batch[i].TTL)
			}
		}
		return nil, err
	case t.Succeeded:
		return a.newGrants(t.Header.Revision)
	}
	return nil, a.readRefusal(ctx, t)
}

// prepare gets sessions that last. It never shortens a lease that was longer before.
func (a *takeAllAttempt) prepare(ctx context.Context) error {
	a.sessions, a.paths = a.sessions[:0], a.paths[:0]
	for i, r := range a.batch {
		s, start, err := a.e.sessions.get(ctx, sessionSeconds(a.ttl(i)))
		if err != nil {
			return err
		}
		if i == 0 { // the others were known to last at later moments
			a.start = start
		}
		path, err := a.e.ownedKeys.preparePut(a.owned[i], r.TTL, s)
		if err != nil {
			return err
		}
		if own := a.ownEntry(i); own != nil {
			path = own.path
		}
		a.sessions, a.paths = append(a.sessions, s), append(a.paths, path)
	}
	return nil
}

// ownEntry returns the entry of an owner that is a holder already, or nil.
func (a *takeAllAttempt) ownEntry(i int) *entry {
	if len(a.ownEntries) == 0 {
		return nil
	}
	return a.ownEntries[i]
}

// distinctSessions returns the sessions of the attempt, each once.
func (a *takeAllAttempt) distinctSessions() (each []*session) {
	for i, s := range a.sessions {
		if !slices.Contains(a.sessions[:i], s) {
			each = append(each, s)
		}
	}
	return each
}

// ttl returns the longest ttl that the owner has asked for.
func (a *takeAllAttempt) ttl(i int) time.Duration {
	if own := a.ownEntry(i); own != nil {
		return max(own.ttl, a.batch[i].TTL)
	}
	return a.batch[i].TTL
}

func (a *takeAllAttempt) transaction() (cmps []*pb.Compare, puts, reads []*pb.RequestOp) {
	for i, r := range a.batch {
		kr := a.e.entryRange(r.Key)
		rec := newRecord(r, a.owned[i].mark)
		if own := a.ownEntry(i); own != nil {
			rec = own.record
			rec.ttl = a.ttl(i)
			cmps = append(cmps, own.compareUnchanged())
		} else {
			cmps = append(cmps, kr.compareNoneAfter(0))
		}
		puts = append(puts, opPut(a.paths[i], rec.onSession(a.sessions[i], rec.ttl), a.sessions[i].base))
		reads = append(reads, opRange(kr))
	}
	for _, s := range a.distinctSessions() {
		cmps = append(cmps, compareExists(s.key))
	}
	return cmps, puts, reads
}

// readRefusal finds out what a refusal means. The error is errChanged if every name is free or held by the owner who
// asks for it.
func (a *takeAllAttempt) readRefusal(ctx context.Context, t *pb.TxnResponse) error {
	ownEntries := make([]*entry, len(a.batch))
	for i, r := range a.batch {
		q := readQueue(t.Responses[i].GetResponseRange().Kvs)
		own, holds := q.findOwned(r.Kind, a.owned[i].mark)
		if len(q) > 0 && !holds {
			a.e.expireOrphansSometimes(ctx, r.Key, q)
			return driver.ErrHeld
		}
		ownEntries[i] = own
	}
	a.ownEntries = ownEntries
	if err := a.e.sessions.verify(ctx, a.distinctSessions()...); err != nil { // one of them may have ended
		return err
	}
	return errChanged
}

// newGrants makes the grants of a transaction at a revision. Grants whose keys were created together have equal tokens,
// which is fine: tokens are compared per name.
func (a *takeAllAttempt) newGrants(revision int64) ([]driver.Grant, error) {
	var grants []driver.Grant
	var late error
	for i, owned := range a.owned {
		created := revision
		life := a.batch[i].TTL
		if own := a.ownEntry(i); own != nil {
			created = own.created
			if a.e.ownedKeys.createdRevision(owned) == 0 {
				life = max(life, own.ttl) // the last renewal is not known
			}
		}
		at := keyState{a.paths[i], created, graceFor(a.ttl(i))}
		if err := a.e.ownedKeys.noteStored(owned, at, a.sessions[i], true, life); err != nil {
			late = err // go on: the other keys must be noted, too
		}
		grants = append(grants, driver.Grant{Token: uint64(created), Start: a.start})
	}
	if late != nil {
		return nil, late
	}
	return grants, nil
}
