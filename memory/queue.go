package memory

import (
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// waiter is an owner's place in a queue.
type waiter struct {
	request    quorumnode.Request
	joined     int64
	prev, next *waiter

	// ready is closed when the waiter leaves the queue: with a grant, or without one if the owner was released. The
	// grant does not change after that.
	ready  chan struct{}
	grant  driver.Grant
	behind *quorumnode.Next // who waited behind it then
}

// queue holds the waiters for one name, in order. It exists while there are any. A nil queue is empty.
type queue struct {
	head, tail *waiter
	byOwner    map[string]*waiter
	timer      timer
}

func newQueue() *queue {
	return &queue{byOwner: make(map[string]*waiter), timer: timer{due: never}}
}

func (q *queue) len() int {
	if q == nil {
		return 0
	}
	return len(q.byOwner)
}

func (q *queue) find(owner string) *waiter {
	if q == nil {
		return nil
	}
	return q.byOwner[owner]
}

func (q *queue) push(r *quorumnode.Request, now int64) *waiter {
	w := &waiter{request: *r, joined: now, prev: q.tail, ready: make(chan struct{})}
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.byOwner[r.Owner] = w
	return w
}

func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	delete(q.byOwner, w.request.Owner)
}
