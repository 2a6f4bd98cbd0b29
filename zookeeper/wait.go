package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// pollInterval is how often a waiter reads the queue although nothing has happened, which bounds the delay after a lost
// message. It must be less than waiterTTL.
const pollInterval = 10 * time.Second

// Wait implements [driver.Engine]. It watches the entry that must go first, and its own.
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.MaxWaiters = true, 0
	key := ownerKey{r.Key, ownerID(r.Owner)}
	for {
		if err := e.client.checkTTL(r.TTL); err != nil {
			return driver.Grant{}, err
		}
		node, _ := e.owned.find(key)
		if node == nil || !e.isWaiting(node) {
			start := driver.Now()
			g, err := e.Take(ctx, r)
			if err == nil {
				g.Start = start
			}
			if !errors.Is(err, driver.ErrHeld) {
				return g, err
			}
			continue
		}
		g, err := e.awaitTurn(ctx, &r, node)
		if !errors.Is(err, errGone) {
			return g, err
		}
	}
}

// isWaiting reports whether an entry's position was read, and it does not hold.
func (e *Engine) isWaiting(node *ownedNode) bool {
	e.owned.mu.Lock()
	defer e.owned.mu.Unlock()
	return !node.removed && !node.granted && node.hasPosition
}

// awaitTurn waits at an entry. It returns errGone if the entry is gone.
func (e *Engine) awaitTurn(ctx context.Context, r *driver.Request, node *ownedNode) (driver.Grant, error) {
	w := &waiter{engine: e, node: node}
	for {
		e.touch(node, max(r.TTL, waiterTTL))
		e.owned.mu.Lock()
		pos := node.position
		e.owned.mu.Unlock()
		free, err := w.awaitChange(ctx, pos)
		if free {
			if g, err := e.holdIfCertain(node, r.TTL, r.TTL/2); err == nil {
				return g, nil
			}
		}
		if err == nil || errors.Is(err, errGone) {
			pos, err = e.readPosition(ctx, node)
		}
		if err == nil && pos.holds {
			return e.holdConfirmed(ctx, node, r.TTL)
		}
		switch {
		case ctx.Err() != nil:
			return driver.Grant{}, driver.NoEffect(ctx.Err()) // requests in flight only read
		case errors.Is(err, errGone) && !e.isWaiting(node):
			return driver.Grant{}, errGone
		case err != nil && !errors.Is(err, errGone) && !errors.Is(err, zk.ErrConnectionClosed):
			return driver.Grant{}, asUnexpected(err)
		}
		// After the end of a connection it continues on the next one: all that was sent were reads.
	}
}

// holdConfirmed makes an entry a holder whose turn it is, once the session is certain to last for a while. The queue
// may have been read from old data, so a majority confirms that the entry still exists.
func (e *Engine) holdConfirmed(ctx context.Context, node *ownedNode, ttl time.Duration) (driver.Grant, error) {
	g, err := e.holdIfCertain(node, ttl, ttl/2)
	if err == nil {
		return g, nil
	}
	if err = e.client.ensureSession(ctx, driver.Now(), ttl); err == nil {
		err = e.confirmOwn(ctx, node)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = driver.NoEffect(ctx.Err())
		}
		return g, err
	}
	if g, err = e.holdIfCertain(node, ttl, 1); err != nil {
		err = errGone
	}
	return g, err
}

// errSessionUncertain means that the session is not certain to last for as long as the lease.
var errSessionUncertain = errors.New("zookeeper: it is not known " +
	"whether the session lasts for as long as the lease: try again")

// holdIfCertain makes an entry a holder whose turn it is, without a request, if the session is certain to last for
// minimum or longer. At first the lease lasts for that time only.
func (e *Engine) holdIfCertain(node *ownedNode, ttl, minimum time.Duration) (driver.Grant, error) {
	start := driver.Now()
	certain := e.client.certainRemaining(node.session, start)
	if certain < minimum {
		return driver.Grant{}, errSessionUncertain
	}
	g, err := e.noteGranted(node, min(ttl, certain), start)
	g.Start, g.TTL = start, min(ttl, certain)
	return g, err
}
