package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/leasehold-go/leasehold/driver"
)

const (
	// pollInterval is how often a waiter reads the queue without having been notified, in case an event was lost.
	pollInterval = 15 * time.Second
	// A waiter without an answer asks again after a pause that doubles each time.
	minBackoff, maxBackoff = 50 * time.Millisecond, time.Second
)

// errQueueChanged says that a waiter has to read the queue again.
var errQueueChanged = errors.New("etcd: the queue has changed")

// Wait implements [driver.Engine].
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.MaxWaiters = true, 0
	owned, err := e.ownedKeys.beginCall(ctx, r.Key, r.Owner)
	if err != nil {
		return driver.Grant{}, err
	}
	defer e.ownedKeys.endCall(owned)
	read := e.ownedKeys.beginWait(owned)
	defer e.ownedKeys.endWait(owned)

	w := waiter{Request: r, e: e, owned: owned, keyRange: e.entryRange(r.Key), lastQueue: read, startedAt: time.Now()}
	defer w.leaveSession()
	pause := minBackoff
	for {
		g, err := w.waitOnce(ctx)
		switch {
		case err == nil:
			return g, nil
		case ctx.Err() != nil && w.mayHaveJoined:
			return g, ctx.Err() // the entry, or a grant, may come yet
		case ctx.Err() != nil:
			return g, notSent(ctx)
		case e.ctx.Err() != nil:
			return g, errClosed
		case driver.IsPermanent(err):
			return g, err
		case errors.Is(err, errQueueChanged):
			pause = minBackoff
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		case <-e.ctx.Done():
		}
		pause = min(2*pause, maxBackoff)
	}
}

// waiter is one call of Wait.
type waiter struct {
	driver.Request
	keyRange
	e     *Engine
	owned *ownedKey

	lastQueue     queueAt // read by the Take before
	changedAt     int64   // the revision of the change that was last seen; 0 if it is not known
	startedAt     time.Time
	session       *session // which the entry names; kept alive meanwhile
	stopKeepalive func()   // stops keeping session alive
	mayHaveJoined bool     // a request that joins may be in flight
}

func (w *waiter) leaveSession() {
	if w.stopKeepalive != nil {
		w.stopKeepalive()
		w.session, w.stopKeepalive = nil, nil
	}
}

// waitOnce reads the queue once, joins if the owner has no entry, and waits until something changes. The error is
// errQueueChanged if it has to be called again.
func (w *waiter) waitOnce(ctx context.Context) (g driver.Grant, err error) {
	s, _, err := w.e.sessions.get(ctx, queueSessionSeconds(w.TTL))
	if err != nil {
		return g, err
	}
	if s != w.session {
		w.leaveSession()
		w.session, w.stopKeepalive = s, w.e.sessions.keepAliveWhileWaiting(s)
	}
	known, freshPath := w.e.ownedKeys.createdRevision(w.owned), w.e.ownedKeys.freshPath(w.owned)
	q, revision := w.lastQueue.queue, w.lastQueue.revision
	if w.lastQueue = (queueAt{}); revision == 0 {
		if q, revision, err = w.fetchQueue(ctx, w.changedAt); err != nil {
			return g, err
		}
		w.changedAt = 0
	}
	own, holds := q.findOwned(w.Kind, w.owned.mark)
	switch {
	case own == nil && max(q.indexOfOwner(w.owned.mark), q.indexOfPath(freshPath)) >= 0:
		// Kept, without an owner: the caller can have no other entry before this one ends.
		kept := q[max(q.indexOfOwner(w.owned.mark), q.indexOfPath(freshPath))]
		return g, w.awaitChange(ctx, watchView{
			keyRange: kept.ownRange(), ownEntry: kept, revision: revision,
			isCurrent: func(now queue) bool { return now.hasUnchanged(kept) },
		})
	case own == nil:
		w.e.ownedKeys.noteGone(w.owned, known)
		return w.join(ctx)
	case own.session != s.id && holds:
		start, err := w.e.extendEntry(ctx, w.owned, own, w.TTL)
		if errors.Is(err, errChanged) {
			err = errQueueChanged
		}
		return driver.Grant{Token: uint64(own.created), Start: start}, err
	case own.session != s.id:
		return g, w.moveToSession(ctx, own)
	case holds:
		return w.grantOwn(own)
	}
	if err := w.e.ownedKeys.noteStored(w.owned, own.keyState(), s, false, idleWaiterTTL); err != nil {
		return g, err
	}
	sessionsSeenAt, err := w.expireOrphansBefore(ctx, q[:q.indexOfOwner(w.owned.mark)])
	if err != nil {
		return g, err
	}
	return w.waitInQueue(ctx, q, revision, sessionsSeenAt)
}

// grantOwn makes the grant of an entry that is a holder's.
func (w *waiter) grantOwn(own *entry) (driver.Grant, error) {
	g, again, err := w.e.newGrantOf(w.owned, own, w.session, w.TTL)
	if again {
		err = errQueueChanged // the session lasts no longer: see to that first
	}
	return g, err
}

// join puts the owner at the end of the queue.
func (w *waiter) join(ctx context.Context) (driver.Grant, error) {
	w.mayHaveJoined = true
	g, err := w.e.take(ctx, w.Request, w.owned)
	if err == nil || driver.HadNoEffect(err) {
		w.mayHaveJoined = false
	}
	if errors.Is(err, driver.ErrHeld) {
		err = errQueueChanged
	}
	return g, err
}

// moveToSession moves an entry that this process does not know to a session that is kept alive.
func (w *waiter) moveToSession(ctx context.Context, own *entry) error {
	if _, err := w.e.ownedKeys.preparePut(w.owned, w.TTL, w.session); err != nil {
		return err
	}
	rec := own.record.onSession(w.session, min(w.TTL, maxWaiterTTL))
	t, err := w.e.txn(ctx, all(own.compareUnchanged(), compareExists(w.session.key)),
		ops(opPut(own.path, rec, w.session.base)), nil)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		w.e.sessions.noteGone(w.session)
		err = nil
	case err == nil && !t.Succeeded:
		err = w.e.sessions.verify(ctx, w.session)
	}
	if err == nil {
		err = errQueueChanged
	}
	return err
}
