package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// Release implements [driver.Engine]. It takes one round trip if nobody else waits. If its connection ends, it is sent
// again on the next one.
//
// With Keep, an entry that belongs to no session replaces the one that is released, in one transaction.
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	key := ownerKey{r.Key, ownerID(r.Owner)}
	node, unknown := e.owned.find(key)
	if node == nil || unknown {
		return asUnexpected(retryRemoval(ctx, func() error { return e.findAndRelease(ctx, r, key) }))
	}
	e.owned.mu.Lock()
	held := node.granted
	e.owned.mu.Unlock()
	var err error
	if held && r.Keep > 0 {
		err = e.keep(ctx, node, r.Keep)
	} else {
		err = e.removeOwned(ctx, node)
	}
	switch {
	case errors.Is(err, errGone), err == nil && !held:
		return driver.ErrNotHeld
	}
	return asUnexpected(err)
}

// removeOwned removes an entry. It returns errGone if the entry does not exist any more. From now on nobody holds or
// waits by it, whenever the removal arrives: if its outcome is unknown, it is tried again in the background.
func (e *Engine) removeOwned(ctx context.Context, node *ownedNode) error {
	others := e.owned.beginRemoval(node)
	err := retryRemoval(ctx, func() error {
		return asGone(e.removeNode(ctx, node.parent, node.name, others || e.owned.contended.Has(node.Key)))
	})
	if err == nil || errors.Is(err, errGone) {
		e.owned.noteRemoved(node.name)
		e.deadlines.Remove(node)
	} else {
		e.scheduleRemoval(node)
	}
	return err
}

// removeNode removes an entry, and the node of the name if it is empty then. If there are probably others, that is left
// for later.
func (e *Engine) removeNode(ctx context.Context, parent, name string, others bool) error {
	path := parent + "/" + name
	if !others {
		_, err := e.client.multi(ctx, nil,
			&zk.DeleteRequest{Path: path, Version: -1}, &zk.DeleteRequest{Path: parent, Version: -1})
		if !errors.Is(err, zk.ErrNotEmpty) {
			return err
		}
	}
	err := e.client.remove(ctx, path)
	e.emptyNames.Set(parent, time.Now().Add(emptyCheckDelay))
	return err
}

// findAndRelease releases everything that the servers have of an owner. It is for takes of unknown outcome.
func (e *Engine) findAndRelease(ctx context.Context, r driver.Release, key ownerKey) error {
	parent := e.nameNode(r.Key)
	if err := e.client.syncWithMajority(ctx, parent); err != nil {
		return err
	}
	entries, err := e.readQueue(ctx, r.Key)
	if err != nil && !errors.Is(err, errGone) {
		return err
	}
	holders, err := e.readHolderCount(ctx, r.Key, entries)
	if err != nil {
		return err
	}
	held := false
	for i, entry := range entries {
		if entry.id != key.id || entry.kept {
			continue
		}
		node := &ownedNode{
			ownerKey: key, parent: parent, name: entry.name, mode: entry.mode, weight: entry.weight, size: entry.size,
			sawOthers: true,
		}
		holds := i < holders
		if holds && r.Keep > 0 {
			err = e.keepFoundNode(ctx, node, r.Keep)
		} else {
			err = asGone(e.removeNode(ctx, parent, entry.name, len(entries) > 1))
		}
		switch {
		case err == nil:
			held = held || holds
		case !errors.Is(err, errGone):
			return err
		}
	}
	if node, _ := e.owned.find(key); node != nil {
		e.forget(node)
	}
	e.owned.clearUnknown(key)
	if !held {
		return driver.ErrNotHeld
	}
	return nil
}

// keepFoundNode is keep for an entry that was not known here.
func (e *Engine) keepFoundNode(ctx context.Context, node *ownedNode, d time.Duration) error {
	data, stat, err := e.client.get(ctx, node.path())
	if err != nil {
		return asGone(err)
	}
	r := readRecord(data)
	node.holder, node.downgraded, node.token = r.Holder, r.Shared, uint64(stat.Czxid)
	return e.keep(ctx, node, d)
}

// keep replaces an entry by one that outlives the session. It writes to the old entry before it removes it, so that
// those who watch it are told that it has changed, not that it has gone: they then read the queue before they count
// themselves as holders.
func (e *Engine) keep(ctx context.Context, node *ownedNode, d time.Duration) error {
	e.owned.mu.Lock()
	kept := &ownedNode{
		ownerKey: node.ownerKey, parent: node.parent, name: keptMark + node.name, kept: true, sawOthers: true,
	}
	if node.downgraded {
		kept.name = keptMark + string(rune(shared)) + node.name[1:]
	}
	r := record{Holder: node.holder, TTL: millis(d), Token: node.token}
	e.owned.mu.Unlock()
	err := retryRemoval(ctx, func() error {
		_, err := e.client.multi(ctx, func([]zk.MultiResponse, int64) {
			e.owned.mu.Lock()
			defer e.owned.mu.Unlock()
			e.extendLocked(kept, d, true)
		},
			&zk.SetDataRequest{Path: node.path(), Version: -1},
			&zk.CreateRequest{Path: kept.path(), Data: r.bytes(), Acl: e.acl},
			&zk.DeleteRequest{Path: node.path(), Version: -1},
		)
		return asGone(err)
	})
	if err == nil || errors.Is(err, errGone) {
		e.forget(node)
	}
	return err
}
