package zookeeper

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/overdue"
)

// Engine keeps locks in a ZooKeeper ensemble. It has one session for all of them. It is safe for concurrent use. Any
// number of engines, in any number of processes, may use one ensemble.
type Engine struct {
	unsupported
	config    config
	prefix    string
	acl       []zk.ACL
	abilities driver.Abilities
	client    *client
	owned     ownedNodes
	// deadlines has the end of each lease of this process, and of each kept lock that it has left.
	deadlines *overdue.Deadlines[*ownedNode]
	// emptyNames has nodes of names whose last entry may have been removed, and the time to check them.
	emptyNames *overdue.Deadlines[string]

	ctx           context.Context // done as soon as Close is called
	cancel        context.CancelFunc
	cleanupCtx    context.Context // done a little later, for clean-up
	cancelCleanup context.CancelFunc
	close         sync.Once
}

// unsupported answers calls of what this engine cannot do.
type unsupported = driver.Unsupported

var (
	_ driver.Engine     = (*Engine)(nil)
	_ driver.Operator   = (*Engine)(nil)
	_ driver.DataKeeper = (*Engine)(nil)
)

// Abilities implements [driver.Engine]. MaxTTL is two fifths of the timeout that the servers have given the session.
func (e *Engine) Abilities() driver.Abilities { return e.abilities }

// Close ends the session, and with it everything that the engine still holds, so nothing that a lock protects may be in
// use any more. First it spends up to a second on removing the empty nodes of names that were released just before. If
// no server can be reached, the session ends when its timeout has passed. Calls after Close fail. Close may be called
// many times.
func (e *Engine) Close() error {
	e.close.Do(func() {
		e.cancel()
		e.deadlines.Close()
		if e.client.isConnected() {
			defer time.AfterFunc(closeLimit, e.cancelCleanup).Stop()
		} else {
			e.cancelCleanup()
		}
		e.removeEmptyNames(e.emptyNames.Close()) // waits for removals that are in flight
		e.cancelCleanup()
		e.client.close()
	})
	return nil
}
