package etcd

import (
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// ErrLeaseLost is the error of [Engine.Guard] for a lease that has ended: it was released or removed, it has expired,
// or the cluster has lost it. The same holds for a lease that this engine has not granted. Compare with errors.Is.
var ErrLeaseLost = fmt.Errorf("etcd: the lease is over, so its lock does not protect this transaction: "+
	"do not commit it, and take the lock again (%w)", driver.ErrNotHeld)

// Lease is what Guard needs to know about a lease. A *leasehold.Lease implements it.
type Lease interface {
	Name() string
	Token() uint64
	// Err returns why the lease has ended, or nil.
	Err() error
}

// Guard returns a condition for a transaction of your own that is true as long as the server has the lease:
//
//	mine, err := engine.Guard(lease)
//	...
//	t, err := client.Txn(ctx).If(mine).Then(clientv3.OpPut("report", text)).Commit()
//	if err == nil && !t.Succeeded {
//		// the lock was lost, and nothing has been written
//	}
//
// When such a transaction writes, nobody else has been granted the lock before: a holder whose process was paused for
// too long changes nothing. It works only in the same cluster. The lease must have been granted by a client of this
// very engine; a *leasehold.Lease will do.
//
// Guard returns ErrLeaseLost if the lease has ended or belongs to another engine. It sends nothing. The condition is
// safe for concurrent use, and good for any number of transactions until the lease ends. A transaction that was sent
// before Release may arrive after it. It is not done then, unless the release keeps the lock taken for a while
// (AtLeast).
func (e *Engine) Guard(lease Lease) (clientv3.Cmp, error) {
	if cause := lease.Err(); cause != nil { // its key may still exist
		return clientv3.Cmp{}, fmt.Errorf("%w: %w", ErrLeaseLost, cause)
	}
	name, token := lease.Name(), lease.Token()
	e.ownedKeys.mu.Lock()
	defer e.ownedKeys.mu.Unlock()
	for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore} {
		for owned := e.ownedKeys.byKey[driver.Key{Kind: kind, Name: name}]; owned != nil; owned = owned.next {
			if owned.granted && token != 0 && owned.created == int64(token) {
				return clientv3.FromCompare(compareCreatedAt(owned.path, owned.created)), nil
			}
		}
	}
	return clientv3.Cmp{}, fmt.Errorf(
		"%w, or give Guard a lease that was granted by the client of this very engine", ErrLeaseLost)
}
