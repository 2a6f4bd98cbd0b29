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

// maxTries is how often a transaction is sent when others change the queue meanwhile.
const maxTries = 8

// maxWaiterTTL limits the ttl of waiters' entries, so that a waiter that has died is soon passed over. When a grant
// that was waited for is first renewed, its entry moves to a session for its own ttl. The core renews at once if the
// grant is shorter than the ttl.
const maxWaiterTTL = 7 * time.Second

// queueSessionSeconds is sessionSeconds for waiters' entries. The session is twice as long as necessary, so that its
// keepalives cost little; the price is that a dead waiter is passed over a few seconds later.
func queueSessionSeconds(ttl time.Duration) int64 { return sessionSeconds(2 * min(ttl, maxWaiterTTL)) }

// minFirstLease is how long a grant lasts at least after a wait, unless a shorter ttl was asked for.
const minFirstLease = 2 * time.Second

// contendedFor is how long a name counts as contended after a request for it was refused.
const contendedFor = 10 * time.Second

// Take implements [driver.Engine].
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	owned, err := e.ownedKeys.beginCall(ctx, r.Key, r.Owner)
	if err != nil {
		return driver.Grant{}, err
	}
	defer e.ownedKeys.endCall(owned)
	return e.take(ctx, r, owned)
}

func (e *Engine) take(ctx context.Context, r driver.Request, owned *ownedKey) (driver.Grant, error) {
	a := takeAttempt{
		Request: r, e: e, owned: owned, keyRange: e.entryRange(r.Key),
		joinsAtOnce: r.Kind == driver.Semaphore || e.ownedKeys.contended.Has(r.Key),
	}
	for range maxTries {
		g, again, err := a.send(ctx)
		if !again {
			return g, a.finalError(err)
		}
	}
	return driver.Grant{}, a.finalError(errBusy)
}

// takeAttempt is one call of Take. It takes one transaction, unless others change the queue meanwhile. A short
// transaction does for a name that is expected to be free.
type takeAttempt struct {
	driver.Request
	keyRange
	e     *Engine
	owned *ownedKey
	path  string

	// roomRevision is the revision at which there was room beside the entries of the name; 0 if only an empty queue
	// will do.
	roomRevision int64

	holdSession  *session // for a grant
	start        driver.Instant
	queueSession *session // for a place in the queue; nil if the request does not join
	joinsAtOnce  bool     // the first request joins if it is refused, since the name is expected to be contended

	joined bool // it has a place in the queue
}

// send sends one transaction. It returns again if another try may get another answer.
func (a *takeAttempt) send(ctx context.Context) (g driver.Grant, again bool, err error) {
	if err = a.prepare(ctx); err != nil {
		return g, false, err
	}
	t, err := a.e.txn(ctx, a.compareRoom(), a.opsToHold(), a.opsIfRefused())
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		a.e.sessions.noteGone(a.holdSession, a.queueSession)
		return g, true, nil
	case err != nil:
		if !driver.HadNoEffect(err) {
			a.e.ownedKeys.noteUnknownPut(a.owned, a.TTL)
		}
		return g, false, err
	}
	if t.Succeeded {
		return a.newGrant(t.Header.Revision)
	}
	answers, granted := t.Responses, false
	if len(answers) == 0 { // the name is not free: a longer request finds out why, and joins
		a.joinsAtOnce = true
		return g, true, nil
	}
	if a.Mode == driver.Shared {
		inner := answers[0].GetResponseTxn()
		granted, answers = inner.Succeeded, inner.Responses
	}
	q := readQueue(answers[len(answers)-1].GetResponseRange().Kvs)
	if !granted && len(answers[len(answers)-2].GetResponseRange().Kvs) == 0 { // the session has ended
		if err := a.noteJoined(q, t.Header.Revision); err != nil {
			return g, false, err
		}
		return g, true, a.e.sessions.verify(ctx, a.holdSession)
	}
	if i := q.indexOfPath(a.path); i >= 0 && q[i].mark == a.owned.mark && q.indexOfOwner(a.owned.mark) != i {
		if err := a.removeEntry(ctx, q[i]); err != nil {
			return g, false, driver.Spent(unmarked{err}) // the first transaction has put the entry there
		}
		q, granted = slices.Delete(q, i, i+1), false
	}
	if granted {
		return a.newGrant(t.Header.Revision)
	}
	return a.readRefusal(ctx, q, t.Header.Revision)
}

// noteJoined notes the place in the queue that the transaction at a revision has made, if any, before another one is
// sent: the call may end in between.
func (a *takeAttempt) noteJoined(q queue, revision int64) error {
	i := q.indexOfPath(a.path)
	if i < 0 || q[i].created != revision {
		return nil
	}
	a.joined = true
	return a.e.ownedKeys.noteStored(a.owned, q[i].keyState(), a.queueSession, false, idleWaiterTTL)
}

// newGrant makes the grant of a transaction at a revision.
func (a *takeAttempt) newGrant(revision int64) (g driver.Grant, again bool, err error) {
	err = a.e.ownedKeys.noteStored(a.owned, keyState{a.path, revision, graceFor(a.TTL)}, a.holdSession, true, a.TTL)
	return driver.Grant{Token: uint64(revision), Start: a.start}, false, err
}

// removeEntry removes an entry again, since the owner turned out to have an earlier one, under a key of another engine.
func (a *takeAttempt) removeEntry(ctx context.Context, en entry) error {
	_, err := a.e.txn(ctx, all(compareCreatedAt(en.path, en.created)), ops(opDelete(en.path)), nil)
	if err != nil {
		a.e.ownedKeys.noteUnknownPut(a.owned, a.TTL)
		return err
	}
	a.e.ownedKeys.noteGone(a.owned, en.created)
	return nil
}

// prepare gets sessions that last.
func (a *takeAttempt) prepare(ctx context.Context) (err error) {
	e := a.e
	if a.holdSession, a.start, err = e.sessions.get(ctx, sessionSeconds(a.TTL)); err != nil {
		return err
	}
	if !a.Join || !a.joinsAtOnce {
		a.path, err = e.ownedKeys.preparePut(a.owned, a.TTL, a.holdSession)
		return err
	}
	if a.queueSession, _, err = e.sessions.get(ctx, queueSessionSeconds(a.TTL)); err != nil {
		return err
	}
	a.path, err = e.ownedKeys.preparePut(a.owned, a.TTL, a.holdSession, a.queueSession)
	return err
}

func (a *takeAttempt) opPutEntry(s *session, ttl time.Duration) *pb.RequestOp {
	return opPut(a.path, newRecord(a.Request, a.owned.mark).onSession(s, ttl), s.base)
}

// compareRoom is true if the name has no entries, or none but those beside which there was room, and if the session
// exists. So a request that arrives after the end of its session leaves nothing, however late that is.
func (a *takeAttempt) compareRoom() []*pb.Compare {
	if a.roomRevision == 0 {
		return all(a.compareNoneAfter(0), compareExists(a.holdSession.key))
	}
	return all(a.compareNoneAfter(a.roomRevision), a.compareAbsent(), compareExists(a.holdSession.key))
}

func (a *takeAttempt) opsToHold() []*pb.RequestOp { return ops(a.opPutEntry(a.holdSession, a.TTL)) }

// compareAbsent is true if the owner's key does not exist. An existing key is left as it is, since it may have been
// downgraded or released meanwhile.
func (a *takeAttempt) compareAbsent() *pb.Compare { return compareCreatedAt(a.path, 0) }

// opsIfRefused is what the transaction does if there is no room. A reader is granted the name if all entries are
// shared. Others join, and read the queue. For a name that was expected to be free, nothing is done if the next request
// joins anyway: what is not asked for need not be sent, logged and replicated.
func (a *takeAttempt) opsIfRefused() []*pb.RequestOp {
	if a.Join && !a.joinsAtOnce && a.Mode == driver.Exclusive {
		return nil
	}
	refused := ops(opKey(a.holdSession.key), opRange(a.keyRange))
	if a.queueSession != nil {
		put := a.opPutEntry(a.queueSession, min(a.TTL, maxWaiterTTL))
		join := opTxn(all(a.compareAbsent(), compareExists(a.queueSession.key)), ops(put), nil)
		refused = ops(join, refused[0], refused[1])
	}
	if a.Mode == driver.Shared {
		onlyReaders := all(a.compareAllShared(), a.compareAbsent(), compareExists(a.holdSession.key))
		refused = ops(opTxn(onlyReaders, append(a.opsToHold(), opRange(a.keyRange)), refused))
	}
	return refused
}

// readRefusal finds out what a refusal means for the owner.
func (a *takeAttempt) readRefusal(
	ctx context.Context, q queue, revision int64,
) (g driver.Grant, again bool, err error) {
	own, holds := q.findOwned(a.Kind, a.owned.mark)
	if !holds {
		a.e.ownedKeys.contended.Add(a.Key, contendedFor)
	}
	if a.queueSession != nil && q.indexOfOwner(a.owned.mark) < 0 && q.indexOfPath(a.path) < 0 {
		// It has not joined, since the session of the queue has ended.
		if err := a.e.sessions.verify(ctx, a.queueSession); err != nil || a.queueSession.isGone() {
			return g, true, err
		}
	}
	switch {
	case a.Join && !a.joinsAtOnce && q.indexOfOwner(a.owned.mark) < 0:
		a.joinsAtOnce = true
		return g, true, nil
	case own == nil && !a.Join && a.roomRevision < revision && a.fits(q):
		a.roomRevision = revision
		return g, true, nil
	case own == nil: // or the entry is kept, and will not be the owner's again
		if !a.Join {
			a.e.expireOrphansSometimes(ctx, a.Key, q)
		}
		return g, false, driver.ErrHeld
	case holds && a.queueSession != nil && own.session == a.queueSession.id && own.created == revision:
		// It has joined, and there was room.
		a.joined = true
		return a.e.newGrantOf(a.owned, own, a.queueSession, a.TTL)
	case holds:
		a.roomRevision = 0
		start, err := a.e.extendEntry(ctx, a.owned, own, a.TTL)
		return driver.Grant{Token: uint64(own.created), Start: start}, errors.Is(err, errChanged), err
	case a.hasTooManyBefore(q, own, revision):
		if err := a.removeEntry(ctx, *own); err != nil {
			return g, false, driver.Spent(unmarked{err})
		}
		return g, false, driver.ErrTooManyWaiters
	case a.queueSession != nil && own.session == a.queueSession.id:
		if err := a.e.ownedKeys.noteStored(a.owned, own.keyState(), a.queueSession, false, idleWaiterTTL); err != nil {
			return g, false, err
		}
		a.e.ownedKeys.keepLastQueue(a.owned, q, revision)
	}
	return g, false, driver.ErrHeld
}

// hasTooManyBefore reports whether the owner has just joined, behind as many waiters as are allowed. An owner that
// joined earlier keeps its place. When several join at once, each sees those before it, so never too many stay; for a
// moment there are more.
func (a *takeAttempt) hasTooManyBefore(q queue, own *entry, revision int64) bool {
	justJoined := a.joined || a.queueSession != nil && own.created == revision
	return a.MaxWaiters > 0 && justJoined && q.indexOfOwner(a.owned.mark)-q.holderCount(a.Kind) >= a.MaxWaiters
}

// finalError is the error of the whole attempt. That the last request had no effect does not mean that an earlier one
// had none.
func (a *takeAttempt) finalError(err error) error {
	if a.joined && driver.HadNoEffect(err) && !driver.IsNo(err) {
		return unmarked{err}
	}
	return err
}

// fits reports whether there is room for the permits beside the entries of the queue.
func (a *takeAttempt) fits(q queue) bool {
	if a.Kind != driver.Semaphore || q.indexOfOwner(a.owned.mark) >= 0 {
		return false
	}
	q = append(q, entry{record: newRecord(a.Request, a.owned.mark)})
	return q.holderCount(a.Kind) == len(q)
}

// newGrantOf makes a grant of an entry that turned out to be a holder's, on its session s. The grant may be shorter
// than the ttl: it is not known since when the entry is a holder's, so the grant lasts only as long as others certainly
// leave the entry alone.
func (e *Engine) newGrantOf(
	owned *ownedKey, own *entry, s *session, ttl time.Duration,
) (g driver.Grant, again bool, err error) {
	now := driver.Now()
	g = driver.Grant{Token: uint64(own.created), Start: now}
	if left := e.sessions.safeFor(s, own.grace, now); left < ttl {
		if ttl = left; ttl < minFirstLease {
			return driver.Grant{}, true, e.ownedKeys.noteStored(owned, own.keyState(), s, false, idleWaiterTTL)
		}
		g.TTL = ttl
	}
	return g, false, e.ownedKeys.noteStored(owned, own.keyState(), s, true, ttl)
}
