package etcd

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

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
// It fails if this engine does not hold that lease, or not any more. Nothing is sent. Many goroutines may use one comparison, each in as many
// transactions as it likes, until the lease ends; a transaction that was sent before Release may come after it, and is not done then.
func (e *Engine) Guard(lease interface {
	Name() string
	Token() uint64
}) (clientv3.Cmp, error) {
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
	return clientv3.Cmp{}, errNotKnown
}
