package etcd

import (
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
)

// A server only knows how long a session lasts, and the session may be kept alive for other locks. So it is this
// process that removes an entry whose lease has expired.

const (
	// idleWaiterTTL is how long an entry stays in the queue while nobody waits for its turn.
	idleWaiterTTL = 10 * time.Second
	// defaultLateRequestTime is the default of ownedKeys.lateRequestTime.
	defaultLateRequestTime = 15 * time.Second
	// removeRetryPause is the pause after a removal that failed.
	removeRetryPause = time.Second
)

// extendLocked makes a key expire no earlier than d from now. mu is held.
func (ks *ownedKeys) extendLocked(owned *ownedKey, d time.Duration) {
	if end := time.Now().Add(d); end.After(owned.expiresAt) {
		owned.expiresAt = end
	}
	if owned.waitingCalls == 0 {
		ks.deadlines.Extend(owned, owned.expiresAt)
	}
}

// onExpired removes the keys whose time has come.
func (ks *ownedKeys) onExpired(due []*ownedKey) {
	const maxKeys = 40 // at once: each may be attached to three leases, or to more after failures
	now := time.Now()
	ks.mu.Lock()
	ended := due[:0]
	for _, owned := range due {
		switch {
		case owned.removed == nil && owned.waitingCalls > 0: // its expiry is set when the last wait ends
			continue
		case owned.removed == nil && owned.expiresAt.After(now):
			ks.deadlines.Extend(owned, owned.expiresAt)
			continue
		case owned.removed == nil:
			owned.removed = make(chan struct{})
		}
		ended = append(ended, owned)
	}
	ks.mu.Unlock()
	for part := range slices.Chunk(ended, maxKeys) {
		// In the background, so that keys that expire a moment later need not wait for the answer.
		ks.engine.background.Go(func() { ks.removeExpired(part) })
	}
}

// removeExpired removes keys that have expired and notes the outcome.
func (ks *ownedKeys) removeExpired(part []*ownedKey) {
	err := ks.removeKeys(part)
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if err != nil && !driver.HadNoEffect(err) {
		ks.renewKeyIDLocked()
	}
	for _, owned := range part {
		if err != nil {
			owned.removalMayArrive = owned.removalMayArrive || !driver.HadNoEffect(err)
			ks.deadlines.Set(owned, time.Now().Add(removeRetryPause))
			continue
		}
		ks.noteRemovedLocked(owned)
	}
}

// removeKeys deletes keys that are still attached to a session that this process has put them on: another process may
// have taken an entry over.
func (ks *ownedKeys) removeKeys(part []*ownedKey) error {
	var removals []*pb.RequestOp
	for _, owned := range part { // nothing changes them any more once they have expired
		for _, path := range slices.Compact([]string{owned.freshPath, owned.path}) {
			for _, lease := range owned.etcdLeases {
				removals = append(removals, opTxn(all(compareEtcdLease(path, lease)), ops(opDelete(path)), nil))
			}
		}
	}
	const maxOps = 120 // servers allow 128 operations
	for ops := range slices.Chunk(removals, maxOps) {
		if _, err := ks.engine.txn(ks.engine.ctx, nil, ops, nil); err != nil {
			return err
		}
	}
	return nil
}

// hasExpired reports whether the lease of an owner has expired, although its key may still be on a server.
func (ks *ownedKeys) hasExpired(k driver.Key, owner string) bool {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	owned := ks.findLocked(k, owner)
	return owned != nil && owned.removed != nil
}

// noteRemovedLocked notes that an expired key was removed. mu is held.
func (ks *ownedKeys) noteRemovedLocked(owned *ownedKey) {
	close(owned.removed)
	owned.removed = nil
	if owned.removalMayArrive { // a removal of the old path may still arrive
		owned.freshPath = ks.engine.entryRange(owned.Key).entryPath(ks.keyID, owned.number)
		owned.removalMayArrive = false
	}
	ks.clearLocked(owned)
	if owned.removalsDue = max(0, owned.removalsDue-1); owned.removalsDue > 0 {
		owned.expiresAt = time.Now().Add(ks.lateRequestTime)
		ks.deadlines.Set(owned, owned.expiresAt)
		return
	}
	if owned.putMayArrive {
		ks.engine.sessions.retire(owned.etcdLeases)
		owned.putMayArrive = false
	}
	owned.etcdLeases = nil
	ks.forgetIfUnusedLocked(owned)
}

// beginWait notes that a call waits at the entry, which does not expire meanwhile. It returns the queue that the Take
// before has read.
func (ks *ownedKeys) beginWait(owned *ownedKey) queueAt {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	owned.waitingCalls++
	read := owned.lastQueue
	owned.lastQueue = queueAt{}
	return read
}

// keepLastQueue keeps the queue that a Take has read, for the Wait that follows.
func (ks *ownedKeys) keepLastQueue(owned *ownedKey, q queue, revision int64) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	owned.lastQueue = queueAt{q, revision}
}

// endWait ends what beginWait began.
func (ks *ownedKeys) endWait(owned *ownedKey) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	owned.waitingCalls--
	if owned.waitingCalls > 0 || owned.removed != nil || owned.created == 0 && owned.removalsDue == 0 {
		return
	}
	if owned.granted {
		ks.extendLocked(owned, 0) // until the moment at which it expires anyway
		return
	}
	ks.extendLocked(owned, idleWaiterTTL)
}
