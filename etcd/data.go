package etcd

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/databytes"
)

// dataPrefix is what the keys of data begin with, after the engine's prefix. No kind of lock is called "data".
const dataPrefix = "data/"

// dataPath returns the etcd key of the data of a lock. It is attached to no etcd lease.
func (k keys) dataPath(name string) string { return k.prefix + dataPrefix + name }

// SetData implements [driver.DataKeeper]. A transaction stores the data if the owner's entry and the data are as they
// were read. If it arrives late, it does nothing once another owner may have been granted the lock: the entry is gone
// then.
func (e *Engine) SetData(ctx context.Context, s driver.DataSet) error {
	if e.ownedKeys.hasExpired(s.Hold.Key, s.Hold.Owner) {
		return driver.ErrNotHeld
	}
	mark, path := ownerMark(s.Hold.Owner), e.dataPath(s.Hold.Name)
	for range maxTries {
		stored, modified, err := e.readData(ctx, path)
		if err != nil {
			return err
		}
		q, _, err := e.fetchQueue(ctx, s.Hold.Key)
		if err != nil {
			return err
		}
		own, holds := q.findOwned(s.Hold.Kind, mark)
		if !holds || own.state == shared {
			return driver.ErrNotHeld
		}
		if replaces, err := s.Data.Replaces(stored); !replaces {
			return err
		}
		t, err := e.txn(ctx, all(own.compareUnchanged(), compareModifiedAt(path, modified)),
			ops(opPutValue(path, databytes.Encode(s.Data), 0)), nil)
		if err != nil || t.Succeeded {
			return err
		}
	}
	return errBusy
}

// Data implements [driver.DataKeeper].
func (e *Engine) Data(ctx context.Context, name string) (driver.Data, error) {
	d, _, err := e.readData(ctx, e.dataPath(name))
	if err != nil || len(d.Value) == 0 {
		return driver.Data{}, err
	}
	return d, nil
}

// readData returns the data at an etcd key, and the revision at which it was stored. Both are zero if there is none.
func (e *Engine) readData(ctx context.Context, path string) (d driver.Data, modified int64, err error) {
	r, err := e.read(ctx, &pb.RangeRequest{Key: []byte(path)})
	if err != nil || len(r.Kvs) == 0 {
		return driver.Data{}, 0, err
	}
	d, ok := databytes.Decode(r.Kvs[0].Value)
	if !ok {
		return driver.Data{}, 0, errData
	}
	return d, r.Kvs[0].ModRevision, nil
}

var errData = driver.Permanent(errors.New("etcd: another program has written into the data of the lock: " +
	"delete its key below data/"))
