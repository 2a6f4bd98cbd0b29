package zookeeper

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	// removalRetryDelay is the time after which a removal that was not confirmed is tried again.
	removalRetryDelay = time.Second
	// emptyCheckDelay is the time from a release to the check whether the name has any entries left.
	emptyCheckDelay = 250 * time.Millisecond
	// closeLimit is the longest time that Close spends on removing empty nodes.
	closeLimit = time.Second
	// maxConcurrent limits the requests that forEach has in flight.
	maxConcurrent = 16
)

// extendLocked moves the end of a lease to d from now, if that is later or from is set. owned.mu must be held.
func (e *Engine) extendLocked(node *ownedNode, d time.Duration, from bool) {
	if end := time.Now().Add(d); from || end.After(node.end) {
		node.end = end
		e.deadlines.Set(node, end)
	}
}

// touch notes that the waiter of an entry is still there, for d at least.
func (e *Engine) touch(node *ownedNode, d time.Duration) {
	e.owned.mu.Lock()
	defer e.owned.mu.Unlock()
	if !node.granted && !node.removed {
		e.extendLocked(node, d, false)
	}
}

// scheduleRemoval has an entry removed in the background, as soon as possible.
func (e *Engine) scheduleRemoval(node *ownedNode) {
	e.owned.mu.Lock()
	defer e.owned.mu.Unlock()
	e.owned.removing[node.name] = struct{}{}
	e.extendLocked(node, 0, true)
}

// forget forgets an entry that is gone.
func (e *Engine) forget(node *ownedNode) {
	e.owned.remove(node)
	e.deadlines.Remove(node)
}

// removeExpired removes entries whose lease has expired, or whose waiter is gone. The servers only know when sessions
// end.
func (e *Engine) removeExpired(due []*ownedNode) {
	forEach(len(due), func(i int) {
		node := due[i]
		over, others := e.beginExpiry(node)
		if !over {
			return
		}
		ctx, cancel := context.WithTimeout(e.ctx, e.config.timeout)
		defer cancel()
		err := e.removeNode(ctx, node.parent, node.name, others)
		session, _ := e.client.current()
		if err == nil || errors.Is(err, zk.ErrNoNode) || session != node.session && !node.kept {
			e.owned.noteRemoved(node.name)
			return
		}
		e.deadlines.Set(node, time.Now().Add(removalRetryDelay))
	})
}

// beginExpiry reports whether the lease of an entry has expired, and whether others probably are in the queue. If it
// has expired, it cannot be extended any more.
func (e *Engine) beginExpiry(node *ownedNode) (over, others bool) {
	e.owned.mu.Lock()
	defer e.owned.mu.Unlock()
	if time.Now().Before(node.end) {
		e.deadlines.Set(node, node.end) // it was extended meanwhile
		return false, false
	}
	if session, _ := e.client.current(); session != node.session && !node.kept {
		delete(e.owned.removing, node.name)
		return false, false // it went with its session
	}
	node.removed = true
	e.owned.removing[node.name] = struct{}{}
	if e.owned.all[node.ownerKey] == node {
		delete(e.owned.all, node.ownerKey)
	}
	return true, node.sawOthers
}

// removeEmptyNames removes nodes of names that nobody holds or waits for.
func (e *Engine) removeEmptyNames(parents []string) {
	forEach(len(parents), func(i int) {
		ctx, cancel := context.WithTimeout(e.cleanupCtx, e.config.timeout)
		defer cancel()
		stat, err := e.client.exists(ctx, parents[i])
		if err == nil && stat != nil && stat.NumChildren == 0 {
			_ = e.client.remove(ctx, parents[i]) // fails if somebody has just joined; the last to leave tries again
		}
	})
}

// forEach calls f for 0 to n-1, several at the same time.
func forEach(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var all sync.WaitGroup
	next := make(chan int)
	for range min(n, maxConcurrent) {
		all.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}
