package etcd

import (
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// What this process knows about its owners' keys, from what it has sent and was answered.

// keyState says where an owner's key is, as of its last known change.
type keyState struct {
	path    string        // the owner's freshPath, or the key of another engine at which the entry was found
	created int64         // the revision at which it was created; 0 if none is known
	grace   time.Duration // which others give it when its session has ended
}

func (en entry) keyState() keyState { return keyState{en.path, en.created, en.grace} }

// preparePut notes that the key is about to be put on sessions, for a ttl if it is a holder's, and keeps it from
// expiring meanwhile. It returns the path for a new entry. The error says that the key has expired.
func (ks *ownedKeys) preparePut(owned *ownedKey, ttl time.Duration, on ...*session) (path string, err error) {
	leases := make([]clientv3.LeaseID, len(on))
	for i, s := range on {
		leases[i] = s.base
	}
	return ks.preparePutOn(owned, ttl, leases...)
}

func (ks *ownedKeys) preparePutOn(owned *ownedKey, ttl time.Duration, on ...clientv3.LeaseID) (path string, err error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if owned.removed != nil {
		return "", errJustExpired
	}
	for _, lease := range on {
		if !slices.Contains(owned.etcdLeases, lease) {
			owned.etcdLeases = append(owned.etcdLeases, lease)
		}
	}
	switch {
	case owned.granted:
		ks.extendLocked(owned, ttl)
	case owned.created != 0:
		ks.extendLocked(owned, idleWaiterTTL)
	}
	return owned.freshPath, nil
}

// noteStored notes that the entry names a session, and how long it lasts unless it is renewed. The error says that the
// key has expired meanwhile: then it is removed, or removed once more if the first removal came too early.
func (ks *ownedKeys) noteStored(owned *ownedKey, at keyState, s *session, granted bool, life time.Duration) error {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.noteStoredLocked(owned, at, s, granted, life)
}

// noteMoved is noteStored for a holder's entry that was moved to another session. It does nothing if the owner was
// released meanwhile: known is the revision that was known before the move.
func (ks *ownedKeys) noteMoved(owned *ownedKey, known int64, own *entry, s *session, life time.Duration) error {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if owned.created != known {
		return nil
	}
	return ks.noteStoredLocked(owned, own.keyState(), s, true, life)
}

// noteStoredLocked is noteStored with mu held.
func (ks *ownedKeys) noteStoredLocked(
	owned *ownedKey, at keyState, s *session, granted bool, life time.Duration,
) error {
	if owned.removed != nil {
		owned.removalsDue = 2
		return errExpiredMeanwhile
	}
	if granted && !owned.granted {
		owned.expiresAt = time.Time{} // as a waiter's it may have lasted longer
		ks.deadlines.Remove(owned)
	}
	owned.keyState, owned.session, owned.granted, owned.mayBeKept = at, s, granted, false
	if owned.removalsDue == 0 {
		owned.etcdLeases = append(owned.etcdLeases[:0], s.base)
	}
	ks.extendLocked(owned, life)
	return nil
}

// noteKept notes that the key is on an etcd lease of its own, without an owner, for this long from now, whatever its
// expiry was before.
func (ks *ownedKeys) noteKept(owned *ownedKey, own *entry, lease clientv3.LeaseID, life time.Duration) error {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if owned.removed != nil {
		return nil // it is being removed, since its lease had expired
	}
	owned.keyState, owned.granted, owned.session = own.keyState(), false, nil
	if owned.removalsDue == 0 {
		owned.etcdLeases = append(owned.etcdLeases[:0], lease)
	}
	owned.expiresAt = time.Now().Add(life)
	ks.deadlines.Set(owned, owned.expiresAt)
	return nil
}

// noteMayBeKept notes that an entry is about to lose its owner.
func (ks *ownedKeys) noteMayBeKept(owned *ownedKey) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	owned.mayBeKept = true
}

// noteUnknownPut notes that a put has an unknown outcome. The key may appear as long as the request is in flight. It is
// removed at its expiry unless its state is known before. If it appears even later, it ends with its session.
func (ks *ownedKeys) noteUnknownPut(owned *ownedKey, life time.Duration) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	owned.removalsDue, owned.putMayArrive = 2, true
	if owned.removed == nil { // otherwise more removals follow the one in flight
		ks.extendLocked(owned, life)
	}
}

// noteUnknownRemoval notes that the removal of a key has an unknown outcome.
func (ks *ownedKeys) noteUnknownRemoval(owned *ownedKey) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	ks.renewKeyIDLocked()
	owned.removalsDue, owned.removalMayArrive = 2, true
	if owned.removed == nil {
		ks.extendLocked(owned, 0)
	}
}

// createdRevision returns the revision at which the key was created, or 0 if this process does not know it.
func (ks *ownedKeys) createdRevision(owned *ownedKey) int64 {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return owned.created
}

// freshPath returns the path for a new entry of the owner.
func (ks *ownedKeys) freshPath(owned *ownedKey) string {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return owned.freshPath
}

// knownKey returns the owner's key and the revision at which it was created, with a token if that is given. The
// revision is 0 if it is not certain, if the entry may have no owner any more, or if there may be a second entry.
func (ks *ownedKeys) knownKey(owned *ownedKey, token uint64) (path string, created int64, granted bool) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	uncertain := owned.mayBeKept || owned.removalsDue > 0 || owned.removed != nil || owned.path != owned.freshPath
	if uncertain || token != 0 && token != uint64(owned.created) {
		return "", 0, false
	}
	return owned.path, owned.created, owned.granted
}

// noteGone notes that a key is not on the server any more. created is the revision that was known before the server was
// asked.
func (ks *ownedKeys) noteGone(owned *ownedKey, created int64) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if owned.created != created || owned.removed != nil {
		return
	}
	ks.clearLocked(owned)
	if owned.removalsDue > 0 {
		owned.removalsDue, owned.expiresAt = 1, time.Now().Add(ks.lateRequestTime)
		ks.deadlines.Set(owned, owned.expiresAt)
		return
	}
	owned.expiresAt = time.Time{}
	ks.forgetIfUnusedLocked(owned)
}

// clearLocked notes that the owner has no entry. mu is held.
func (ks *ownedKeys) clearLocked(owned *ownedKey) {
	owned.keyState = keyState{path: owned.freshPath}
	owned.granted, owned.mayBeKept, owned.session, owned.lastQueue = false, false, nil, queueAt{}
}
