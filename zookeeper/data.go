package zookeeper

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/databytes"
)

// dataParent returns the path of the node that the data of all locks is below.
func (e *Engine) dataParent() string { return e.prefix + "/data" }

// dataNode returns the path of the node with the data of a lock. It belongs to no session.
func (e *Engine) dataNode(name string) string { return e.dataParent() + "/" + escape(name) }

// SetData implements [driver.DataKeeper]. A transaction stores the data if the owner's entry and the data are as they
// were read. If it arrives late, it does nothing once another owner may have been granted the lock: the entry is gone
// then, and its name is never used again.
func (e *Engine) SetData(ctx context.Context, s driver.DataSet) error {
	path := e.dataNode(s.Hold.Name)
	for range maxTries {
		own, err := e.findExclusive(ctx, s.Hold)
		if err != nil {
			return asUnexpected(err)
		}
		stored, version, err := e.readData(ctx, path)
		if err != nil {
			return asUnexpected(err)
		}
		if replaces, err := s.Data.Replaces(stored); !replaces {
			return err
		}
		if done, err := e.storeData(ctx, s, own, version); done || err != nil {
			return asUnexpected(err)
		}
	}
	return errBusy
}

// storeData stores data if an entry and the version of the node with the data are as they were read. It reports false
// if they are not, or if a node above is missing, which it creates.
func (e *Engine) storeData(ctx context.Context, s driver.DataSet, own *nodeInfo, version int32) (done bool, err error) {
	path, value := e.dataNode(s.Hold.Name), databytes.Encode(s.Data)
	var store any = &zk.SetDataRequest{Path: path, Data: value, Version: version}
	if version < 0 {
		store = &zk.CreateRequest{Path: path, Data: value, Acl: e.acl}
	}
	entry := e.nameNode(s.Hold.Key) + "/" + own.name
	at, err := e.client.multi(ctx, nil, &zk.CheckVersionRequest{Path: entry, Version: own.stat.Version}, store)
	switch {
	case err == nil:
		return true, nil
	case at == 1 && version < 0 && errors.Is(err, zk.ErrNoNode):
		return false, e.createParents(ctx, e.dataParent())
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNodeExists):
		return false, nil
	}
	return false, err
}

// findExclusive returns the entry by which an owner holds a lock exclusively. The error is driver.ErrNotHeld if there
// is none.
func (e *Engine) findExclusive(ctx context.Context, h driver.Hold) (*nodeInfo, error) {
	held, err := e.readPresentHolders(ctx, h.Key)
	if err != nil {
		return nil, err
	}
	id := ownerID(h.Owner)
	at := slices.IndexFunc(held, func(info *nodeInfo) bool {
		return info.id == id && !info.kept && info.mode == exclusive && !info.Shared
	})
	if at < 0 || e.owned.isBeingRemoved(held[at].name) { // the lease may have expired
		return nil, driver.ErrNotHeld
	}
	return held[at], nil
}

// Data implements [driver.DataKeeper].
func (e *Engine) Data(ctx context.Context, name string) (driver.Data, error) {
	path := e.dataNode(name)
	if err := e.client.syncWithMajority(ctx, path); err != nil {
		return driver.Data{}, asUnexpected(err)
	}
	d, _, err := e.readData(ctx, path)
	if err != nil || len(d.Value) == 0 {
		return driver.Data{}, asUnexpected(err)
	}
	return d, nil
}

// readData returns the data in a node, and the version of the node: negative if there is none.
func (e *Engine) readData(ctx context.Context, path string) (d driver.Data, version int32, err error) {
	data, stat, err := e.client.get(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return driver.Data{}, -1, nil
	case err != nil:
		return driver.Data{}, 0, err
	}
	d, ok := databytes.Decode(data)
	if !ok {
		return driver.Data{}, 0, errData
	}
	return d, stat.Version, nil
}

var errData = driver.Permanent(errors.New("zookeeper: another program has written into the data of the lock: " +
	"delete its node below data"))
