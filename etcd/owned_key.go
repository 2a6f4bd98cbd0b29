package etcd

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/contended"
	"github.com/leasehold-go/leasehold/internal/overdue"
)

// ownedKey is what this process knows about an etcd key that it has put on a server for an owner, or has tried to.
type ownedKey struct {
	driver.Key
	owner, mark string
	number      int // no other owner of the name has it

	// Guarded by ownedKeys.mu.
	freshPath string // where this engine puts a new entry of the owner
	keyState
	calls            int // calls that use it
	waitingCalls     int // calls that wait at the entry, which does not expire meanwhile
	granted          bool
	mayBeKept        bool               // a release may have kept it, so that it has no owner any more
	session          *session           // the session that the entry names; nil if that is not this engine's
	etcdLeases       []clientv3.LeaseID // the etcd leases that the key may be attached to
	removalsDue      int                // removals still due, as a request may yet arrive; 0 if none can
	putMayArrive     bool               // a put of the key may arrive even later
	removalMayArrive bool               // a removal of the key may
	expiresAt        time.Time
	removed          chan struct{} // set when the key has expired, which nothing can undo; closed when it is removed
	lastQueue        queueAt       // what a refused Take has read, for the Wait that follows
	next             *ownedKey     // another owner of the same name
}

// queueAt is a queue as it was at a revision. Revision 0 means that nothing was read.
type queueAt struct {
	queue    queue
	revision int64
}

// ownedKeys removes entries that are not renewed. A server cannot do that: it only knows how long a session lasts,
// which other locks may keep alive.
type ownedKeys struct {
	engine    *Engine
	keyID     string // part of all etcd keys of this engine; replaced when a removal has an unknown outcome
	deadlines *overdue.Deadlines[*ownedKey]
	// lateRequestTime is how long a request that nobody waits for any more may still take effect. It is longer than
	// healthy servers work on a request.
	lateRequestTime time.Duration

	contended contended.Names[driver.Key] // names for which a request was refused a short while ago

	mu    sync.Mutex
	byKey map[driver.Key]*ownedKey
}

func (ks *ownedKeys) init(e *Engine) {
	ks.engine, ks.byKey, ks.lateRequestTime = e, make(map[driver.Key]*ownedKey), defaultLateRequestTime
	ks.renewKeyIDLocked()
	ks.deadlines = overdue.New(ks.onExpired)
}

func (ks *ownedKeys) close() { ks.deadlines.Close() }

// findLocked returns the owned key of an owner, or nil. mu is held.
func (ks *ownedKeys) findLocked(k driver.Key, owner string) *ownedKey {
	owned := ks.byKey[k]
	for owned != nil && owned.owner != owner {
		owned = owned.next
	}
	return owned
}

// beginCall returns the owned key of an owner, for a call that ends with endCall. If the key has expired, beginCall
// waits until it is removed from the server, so that the owner gets a new one.
func (ks *ownedKeys) beginCall(ctx context.Context, k driver.Key, owner string) (*ownedKey, error) {
	for {
		ks.mu.Lock()
		owned := ks.findLocked(k, owner)
		if owned == nil {
			owned = &ownedKey{Key: k, owner: owner, mark: ownerMark(owner), next: ks.byKey[k]}
			owned.number = ks.freeNumberLocked(k)
			owned.freshPath = ks.engine.entryRange(k).entryPath(ks.keyID, owned.number)
			owned.path = owned.freshPath
			ks.byKey[k] = owned
		}
		ending := owned.removed
		if ending == nil {
			owned.calls++
		}
		ks.mu.Unlock()
		if ending == nil {
			return owned, nil
		}
		select {
		case <-ending:
		case <-ctx.Done():
			return nil, notSent(ctx)
		case <-ks.engine.ctx.Done():
			return nil, errClosed
		}
	}
}

// endCall ends what beginCall began.
func (ks *ownedKeys) endCall(owned *ownedKey) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	owned.calls--
	ks.forgetIfUnusedLocked(owned)
}

// forgetIfUnusedLocked forgets a key that cannot be on a server. mu is held.
func (ks *ownedKeys) forgetIfUnusedLocked(owned *ownedKey) {
	if owned.calls > 0 || owned.created != 0 || owned.removalsDue > 0 || owned.removed != nil {
		return
	}
	ks.deadlines.Remove(owned)
	first := ks.byKey[owned.Key]
	if first == owned && owned.next == nil {
		delete(ks.byKey, owned.Key)
		return
	}
	if first == owned {
		ks.byKey[owned.Key] = owned.next
		return
	}
	for p := first; p != nil; p = p.next {
		if p.next == owned {
			p.next = owned.next
			return
		}
	}
}
