package zookeeper

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/overdue"
)

// Engine keeps locks in a ZooKeeper ensemble. It has one session for all of them. It is safe for concurrent use. Any number of engines, in any number
// of processes, may use one ensemble.
type Engine struct {
	config    config
	prefix    string
	acl       []zk.ACL
	abilities driver.Abilities
	client    *client
	places    places
	// ends are when leases end, and kept places.
	ends *overdue.Book[*place]
	// empties are nodes of names that may have no places any more.
	empties *overdue.Book[string]

	life    context.Context // ends with Close
	kill    context.CancelFunc
	errands context.Context // ends a little later
	giveUp  context.CancelFunc
	close   sync.Once
}

var (
	_ driver.Engine     = (*Engine)(nil)
	_ driver.Downgrader = (*Engine)(nil)
	_ driver.Forcer     = (*Engine)(nil)
	_ driver.Sweeper    = (*Engine)(nil)
)

// Abilities implements [driver.Engine]. MaxTTL is two fifths of the timeout that the servers have given the session.
func (e *Engine) Abilities() driver.Abilities { return e.abilities }

// Close ends the session, and with it everything that is held: it must not be used any more by then. First it leaves nothing behind of names that were
// released just before, for up to a second. If no server can be reached, the session ends when its time is over. Calls after Close are refused. Close may be
// called many times.
func (e *Engine) Close() error {
	e.close.Do(func() {
		e.kill()
		e.ends.Close()
		if e.client.connected() {
			defer time.AfterFunc(farewell, e.giveUp).Stop()
		} else {
			e.giveUp()
		}
		e.tidy(e.empties.Close()) // which waits for those that are being looked after
		e.giveUp()
		e.client.close()
	})
	return nil
}
