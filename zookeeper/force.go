package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// ForceRelease implements [driver.Operator]. The name of an entry is never used again, so what is removed is the entry
// that was read.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	if kindNodes[k.Kind] == "" {
		return driver.ErrNotHeld
	}
	held, err := e.readPresentHolders(ctx, k)
	if err != nil {
		return asUnexpected(err)
	}
	for _, h := range held {
		if h.grantToken() != token {
			continue
		}
		err := e.removeNode(ctx, e.nameNode(k), h.name, true)
		if errors.Is(err, zk.ErrNoNode) {
			return driver.ErrNotHeld
		}
		return asUnexpected(err)
	}
	return driver.ErrNotHeld
}

// nodeInfo is an entry with everything that the servers know of it.
type nodeInfo struct {
	queueEntry
	record
	stat *zk.Stat
}

// grantToken returns the token with which the lock was granted.
func (info *nodeInfo) grantToken() uint64 {
	if info.kept {
		return info.record.Token
	}
	return uint64(info.stat.Czxid)
}

// readHolders returns the holders of a name, and the entries of its waiters, both in order. Kept locks whose time is
// over still count as holders.
func (e *Engine) readHolders(ctx context.Context, k driver.Key) (held []*nodeInfo, waiting []queueEntry, err error) {
	entries, err := e.readQueue(ctx, k)
	if err != nil || len(entries) == 0 {
		return nil, nil, err
	}
	n, err := e.readHolderCount(ctx, k, entries)
	if err != nil {
		return nil, nil, err
	}
	held, err = e.readNodes(ctx, k, entries[:n])
	return held, entries[n:], err
}

// readPresentHolders returns the holders of a name as of this call, whichever server is asked.
func (e *Engine) readPresentHolders(ctx context.Context, k driver.Key) ([]*nodeInfo, error) {
	if err := e.client.syncWithMajority(ctx, e.nameNode(k)); err != nil {
		return nil, err
	}
	held, _, err := e.readHolders(ctx, k)
	if errors.Is(err, errGone) {
		err = nil
	}
	return held, err
}

// readHolderCount returns how many of a queue hold, as holderCount does. It reads whether the first entry has
// downgraded, if that matters.
func (e *Engine) readHolderCount(ctx context.Context, k driver.Key, entries []queueEntry) (int, error) {
	if len(entries) < 2 || entries[0].mode != exclusive || entries[1].mode != shared {
		return holderCount(entries, false), nil
	}
	first, err := e.readNodes(ctx, k, entries[:1])
	return holderCount(entries, len(first) > 0 && first[0].Shared), err
}

// readNodes reads entries. It leaves out those that have gone meanwhile.
func (e *Engine) readNodes(ctx context.Context, k driver.Key, entries []queueEntry) ([]*nodeInfo, error) {
	parent := e.nameNode(k)
	found := make([]*nodeInfo, len(entries))
	errs := make([]error, len(entries))
	forEach(len(entries), func(i int) {
		data, stat, err := e.client.get(ctx, parent+"/"+entries[i].name)
		switch {
		case err == nil:
			found[i] = &nodeInfo{entries[i], readRecord(data), stat}
		case !errors.Is(err, zk.ErrNoNode):
			errs[i] = err
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := found[:0]
	for _, info := range found {
		if info != nil {
			all = append(all, info)
		}
	}
	return all, nil
}
