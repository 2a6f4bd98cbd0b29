package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// Renew implements [driver.Engine]. A majority confirms in one transaction that the entries exist. If one of them does
// not, each is read.
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	from := driver.Now()
	var longest time.Duration
	held := make([]*ownedNode, len(batch))
	var at []int
	for i, r := range batch {
		node, _ := e.owned.find(ownerKey{r.Key, ownerID(r.Owner)})
		if node == nil {
			report(i, driver.ErrNotHeld)
		} else if err := e.client.checkTTL(r.TTL); err != nil {
			report(i, err)
		} else {
			held[i] = node
			at = append(at, i)
			longest = max(longest, r.TTL)
		}
	}
	if len(at) == 0 {
		return
	}
	if err := e.client.ensureSession(ctx, from, longest); err != nil {
		for _, i := range at {
			report(i, err)
		}
		return
	}
	parts := splitForTransactions(held, at)
	forEach(len(parts), func(n int) {
		part := parts[n]
		paths := make([]string, len(part))
		for j, i := range part {
			paths[j] = held[i].path()
		}
		all, err := e.client.confirmAll(ctx, paths...)
		if err != nil {
			for _, i := range part {
				report(i, asUnexpected(err))
			}
			return
		}
		forEach(len(part), func(j int) {
			i := part[j]
			report(i, e.renew(ctx, held[i], batch[i], from, all))
		})
	})
}

// renew extends a lease, once a majority has confirmed that the session is alive. there is set if it has confirmed the
// entry, too.
func (e *Engine) renew(ctx context.Context, node *ownedNode, r driver.Renewal, from driver.Instant, there bool) error {
	if !there {
		stat, err := e.client.exists(ctx, node.path())
		if err != nil {
			return asUnexpected(err)
		}
		there = stat != nil
	}
	if session, _ := e.client.current(); !there || session != node.session {
		e.forget(node)
		return driver.ErrNotHeld
	}
	if e.client.certainRemaining(node.session, from) < r.TTL {
		return errSessionUncertain // the connection has changed
	}
	e.owned.mu.Lock()
	defer e.owned.mu.Unlock()
	if node.removed || !node.granted {
		return driver.ErrNotHeld
	}
	e.extendLocked(node, r.TTL, false)
	return nil
}

// Downgrade implements [driver.Engine]. Waiters for the writer watch its entry, and so are notified.
func (e *Engine) Downgrade(ctx context.Context, h driver.Hold) error {
	node, _ := e.owned.find(ownerKey{h.Key, ownerID(h.Owner)})
	if node == nil {
		return driver.ErrNotHeld
	}
	e.owned.mu.Lock()
	r := node.recordLocked()
	granted := node.granted && !node.removed
	e.owned.mu.Unlock()
	if !granted {
		return driver.ErrNotHeld
	}
	r.Shared = true
	_, err := e.client.set(ctx, node.path(), r.bytes())
	switch {
	case errors.Is(err, zk.ErrNoNode):
		e.forget(node)
		return driver.ErrNotHeld
	case err == nil:
		e.owned.mu.Lock()
		node.downgraded = true
		e.owned.mu.Unlock()
	}
	return asUnexpected(err)
}
