package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// checkGrantable returns ErrHeld if a request would have to wait, without creating an entry.
func (e *Engine) checkGrantable(ctx context.Context, r *driver.Request) error {
	entries, err := e.readQueue(ctx, r.Key)
	if err != nil {
		return err
	}
	entries = append(entries, queueEntry{mode: nodeMode(r), weight: r.Weight, size: r.Size})
	pos, err := e.resolvePosition(ctx, r.Key, positionOf(entries, len(entries)-1))
	if err == nil && !pos.holds {
		err = driver.ErrHeld
	}
	return err
}

// checkBeforeCreate is checkGrantable for an owner that may have an entry from a take of unknown outcome. That take may
// have arrived since the entry was searched for, so that it is what blocks the request. It returns that entry, if there
// is one.
func (e *Engine) checkBeforeCreate(
	ctx context.Context, r *driver.Request, key ownerKey, unknown bool,
) (*ownedNode, error) {
	err := e.checkGrantable(ctx, r)
	if !unknown || !errors.Is(err, driver.ErrHeld) {
		return nil, err
	}
	node, failed := e.findUnanswered(ctx, r, key)
	if node != nil || failed != nil {
		return node, failed
	}
	return nil, err
}

// readQueue reads the holders and waiters of a name, in order. It returns errGone if the node of the name does not
// exist.
func (e *Engine) readQueue(ctx context.Context, k driver.Key) ([]queueEntry, error) {
	names, err := e.client.children(ctx, e.nameNode(k))
	if errors.Is(err, zk.ErrNoNode) {
		err = errGone
	}
	if err != nil {
		return nil, err
	}
	return sortQueue(names)
}

// readPosition reads the queue and notes how an entry stands. It returns errGone if the entry, or one that its position
// depends on, has gone.
func (e *Engine) readPosition(ctx context.Context, node *ownedNode) (position, error) {
	entries, err := e.readQueue(ctx, node.Key)
	at := indexOf(entries, node.name)
	if errors.Is(err, errGone) || err == nil && at < 0 {
		e.forget(node)
		return position{}, errGone
	}
	if err != nil {
		return position{}, err
	}
	pos, err := e.resolvePosition(ctx, node.Key, positionOf(entries, at))
	if err != nil {
		return pos, err
	}
	e.owned.mu.Lock()
	defer e.owned.mu.Unlock()
	node.position, node.hasPosition = pos, true
	node.sawOthers = node.sawOthers || pos.followed || !pos.holds
	return pos, nil
}

// resolvePosition reads what the names of entries do not tell: whether a writer has downgraded, and whether the time of
// kept locks is over. It returns errGone if one of these entries is gone, or it has removed one.
func (e *Engine) resolvePosition(ctx context.Context, k driver.Key, pos position) (position, error) {
	if pos.holds {
		return pos, nil
	}
	parent := e.nameNode(k)
	if pos.holdsIfDowngraded {
		data, _, err := e.client.get(ctx, parent+"/"+pos.blocker)
		if err != nil {
			return pos, asGone(err)
		}
		pos.holds = readRecord(data).Shared
	}
	for _, name := range pos.keptBefore {
		left, err := e.readKeptFor(ctx, parent, name)
		if err != nil {
			return pos, err
		}
		if pos.keptFor == 0 || left < pos.keptFor {
			pos.keptFor = left
		}
	}
	return pos, nil
}

// readKeptFor returns how much longer a lock is kept, by the clock of the servers: from the time of its creation, and
// that of a transaction sent now. If that time is over, it removes the entry and returns errGone.
func (e *Engine) readKeptFor(ctx context.Context, parent, name string) (time.Duration, error) {
	path := parent + "/" + name
	data, stat, err := e.client.get(ctx, path)
	if err != nil {
		return 0, asGone(err)
	}
	now, err := e.client.set(ctx, parent, nil)
	if err != nil {
		return 0, asGone(err)
	}
	if left := keptRemaining(readRecord(data), stat, now.Mtime); left > 0 {
		return left, nil
	}
	if err := e.client.remove(ctx, path); err != nil {
		return 0, asGone(err)
	}
	return 0, errGone
}

// keptRemaining returns how much longer a lock is kept. Both times are truncated to milliseconds, which may hide one.
func keptRemaining(r record, stat *zk.Stat, now int64) time.Duration {
	return time.Duration(r.TTL+1-(now-stat.Ctime)) * time.Millisecond
}

// asGone turns the answer that there is no such node into errGone.
func asGone(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return errGone
	}
	return err
}

// findUnanswered searches for the entry of an owner whose take had no answer. It returns nil if there is none.
func (e *Engine) findUnanswered(ctx context.Context, r *driver.Request, key ownerKey) (*ownedNode, error) {
	parent := e.nameNode(r.Key)
	if err := e.client.syncWithMajority(ctx, parent); err != nil {
		return nil, err
	}
	entries, err := e.readQueue(ctx, r.Key)
	if err != nil && !errors.Is(err, errGone) {
		return nil, err
	}
	for _, entry := range entries {
		if entry.id != key.id || entry.kept || e.owned.isBeingRemoved(entry.name) {
			continue
		}
		node := &ownedNode{
			ownerKey: key, parent: parent, name: entry.name, mode: entry.mode, weight: entry.weight, size: entry.size,
			holder: r.Holder, ttl: millis(r.TTL),
		}
		stat, err := e.client.exists(ctx, node.path())
		if err != nil {
			return nil, err
		}
		// The entry of an earlier session is about to go.
		if session, _ := e.client.current(); stat == nil || stat.EphemeralOwner != session {
			continue
		}
		node.token, node.session = uint64(stat.Czxid), stat.EphemeralOwner
		return e.addOwned(node, false, r.TTL), nil
	}
	return nil, nil
}
