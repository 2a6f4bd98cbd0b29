package etcd

import (
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// ErrLeaseLost is the answer of [Engine.Guard] for a lease that is over: it was released or taken away, its time has passed, or the cluster has lost it.
// So it is for one that this engine has not granted. Compare with errors.Is.
var ErrLeaseLost = fmt.Errorf("etcd: the lease is over, so its lock does not protect this transaction: do not commit it, and take the lock again (%w)", driver.ErrNotHeld)

// Lease is what a guard must know of a lease. A *leasehold.Lease has it.
type Lease interface {
	Name() string
	Token() uint64
	// Err returns why the lease has ended, or nil.
	Err() error
}

// Guard returns a comparison that is true as long as a lease stands on the server, for a transaction of the caller's own:
//
//	mine, err := engine.Guard(lease)
//	...
//	t, err := client.Txn(ctx).If(mine).Then(clientv3.OpPut("report", text)).Commit()
//	if err == nil && !t.Succeeded {
//		// the lock was lost, and nothing has been written
//	}
//
// What is written to the same cluster in this way, nobody else can have been granted the lock before: a holder whose process stood still
// for too long changes nothing. The lease is one that a client of this very engine was granted: a lease of package leasehold, say.
//
// It returns ErrLeaseLost if the lease is over, or is another engine's. Nothing is sent. Many goroutines may use one comparison, each in as many
// transactions as it likes, until the lease ends; a transaction that was sent before Release may come after it, and is not done then, unless the lock
// is kept taken for a while after its release (AtLeast).
func (e *Engine) Guard(lease Lease) (clientv3.Cmp, error) {
	if cause := lease.Err(); cause != nil { // its key may be there for a while yet
		return clientv3.Cmp{}, fmt.Errorf("%w: %w", ErrLeaseLost, cause)
	}
	name, token := lease.Name(), lease.Token()
	e.members.mu.Lock()
	defer e.members.mu.Unlock()
	for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore} {
		for m := e.members.all[driver.Key{Kind: kind, Name: name}]; m != nil; m = m.next {
			if m.granted && token != 0 && m.created == int64(token) {
				return clientv3.FromCompare(createdAt(m.path, m.created)), nil
			}
		}
	}
	return clientv3.Cmp{}, fmt.Errorf("%w, or give Guard a lease that was granted by the client of this very engine", ErrLeaseLost)
}
