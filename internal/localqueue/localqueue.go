// Package localqueue lets the callers of one process wait for each other, in order, before they ask a server. So a
// process is one waiter there, however many of its goroutines want the same name.
//
// Each key has one turn. The caller that has the turn may ask the server, and keeps the turn for as long as no other
// caller of this process could succeed. Then the turn goes to the next waiter, perhaps together with a value, such as a
// lock that is handed over.
//
// The caller that has the turn also notes whether it knows that the key is held, by itself or by others elsewhere.
// Having to wait does not imply that.
package localqueue

import (
	"context"
	"sync"
	"sync/atomic"
)

// Queue has the queues of all keys. W is what a waiter wants; V is a value that it may get along with its turn. The
// zero value is ready for use. A Queue is safe for concurrent use.
type Queue[K comparable, W, V any] struct {
	mu     sync.Mutex
	queues map[K]*keyQueue[W, V]
	spare  *keyQueue[W, V] // one unused queue, so that a free key costs no allocation

	waiting atomic.Int32 // waiters of all keys, so that Waiting needs no mutex while there are none
}

// keyQueue is the queue of one key. It exists while a caller has the turn, or a value is parked.
type keyQueue[W, V any] struct {
	first, last   *waiter[W, V]
	length        int
	parked        bool // nobody has the turn: who asks next has it, with value
	value         V
	held          bool // the key is known to be held
	heldCount     int  // how often held has become true: counted, as marking each waiter would visit all
	leaversIfHeld int  // waiters with leavesIfHeld
}

type waiter[W, V any] struct {
	want            W
	turn            chan Turn[V] // of capacity 1; receives once
	queued          bool
	leavesIfHeld    bool // leaves when the key is known to be held
	sawHeld         bool // held was true at some moment of the wait
	heldCountOnJoin int  // heldCount of the queue at the start of the wait
	prev, next      *waiter[W, V]
}

// Turn is the result of a wait.
type Turn[V any] struct {
	// HasTurn is set if the caller has the turn.
	HasTurn bool
	// Value came along with the turn, or is zero.
	Value V
	// TooMany is set if the caller did not wait, because as many others wait as are allowed.
	TooMany bool
	// Held is set if at some moment of the wait the caller with the turn knew that the key was held.
	Held bool
}

// Try takes the turn of k if nobody has it, along with the value that is parked there, if any. It does not wait.
func (q *Queue[K, W, V]) Try(k K) Turn[V] {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tryLocked(k)
}

func (q *Queue[K, W, V]) tryLocked(k K) Turn[V] {
	if kq, taken := q.queues[k]; taken {
		return kq.unpark()
	}
	kq := q.spare
	if kq == nil {
		kq = new(keyQueue[W, V])
	}
	q.spare = nil
	if q.queues == nil {
		q.queues = make(map[K]*keyQueue[W, V])
	}
	q.queues[k] = kq
	return Turn[V]{HasTurn: true}
}

// unpark takes the parked value and the turn, if a value is parked.
func (kq *keyQueue[W, V]) unpark() (t Turn[V]) {
	if kq.parked {
		t.HasTurn, t.Value, t.Held = true, kq.value, kq.held
		var none V
		kq.parked, kq.value = false, none
	}
	return t
}

// Park ends the turn of k and leaves a value there: the next caller that asks for the turn has both at once. Until then
// Unpark may take the turn back. Park changes nothing and reports false if somebody waits.
func (q *Queue[K, W, V]) Park(k K, value V) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	kq := q.queues[k]
	if kq.first != nil {
		return false
	}
	kq.parked, kq.value = true, value
	return true
}

// Unpark takes the turn of k back from where Park has left it, and reports false if another caller has taken it. The
// caller must know that no other value can be parked there by now.
func (q *Queue[K, W, V]) Unpark(k K) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	kq := q.queues[k]
	return kq != nil && kq.unpark().HasTurn
}

// SetHeld sets whether it is known that k is held. Only the caller that has the turn of k may call it.
func (q *Queue[K, W, V]) SetHeld(k K, held bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kq := q.queues[k]
	if held && !kq.held {
		kq.heldCount++
	}
	kq.held = held
	for w := kq.first; held && kq.leaversIfHeld > 0; {
		next := w.next
		if w.leavesIfHeld {
			q.removeLocked(kq, w)
			w.turn <- Turn[V]{Held: true}
		}
		w = next
	}
}

// Wait waits for the turn of k, unless maxWaiters others wait for it already; 0 is no limit. It stops waiting when ctx
// ends or stop is closed. If the turn came at the same moment, the caller has it, so it must check ctx itself.
func (q *Queue[K, W, V]) Wait(ctx context.Context, stop <-chan struct{}, k K, maxWaiters int, want W) Turn[V] {
	return q.wait(ctx, stop, k, maxWaiters, &waiter[W, V]{want: want})
}

// WaitUnlessHeld is like Wait, but it leaves as soon as k is known to be held. It gets no value but a parked one.
func (q *Queue[K, W, V]) WaitUnlessHeld(ctx context.Context, stop <-chan struct{}, k K, maxWaiters int) Turn[V] {
	return q.wait(ctx, stop, k, maxWaiters, &waiter[W, V]{leavesIfHeld: true})
}

func (q *Queue[K, W, V]) wait(ctx context.Context, stop <-chan struct{}, k K, maxWaiters int, w *waiter[W, V]) Turn[V] {
	t, queued := q.join(k, maxWaiters, w)
	if !queued {
		return t
	}
	select {
	case t := <-w.turn:
		return t
	case <-ctx.Done():
	case <-stop:
	}
	if q.leave(k, w) {
		return Turn[V]{Held: w.sawHeld}
	}
	return <-w.turn
}

// join puts w into the queue of k, or returns the result of its wait at once.
func (q *Queue[K, W, V]) join(k K, maxWaiters int, w *waiter[W, V]) (t Turn[V], queued bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.tryLocked(k); t.HasTurn {
		return t, false
	}
	kq := q.queues[k]
	switch {
	case w.leavesIfHeld && kq.held:
		return Turn[V]{Held: true}, false
	case maxWaiters > 0 && kq.length >= maxWaiters:
		return Turn[V]{TooMany: true, Held: kq.held}, false
	}
	w.turn = make(chan Turn[V], 1)
	q.pushLocked(kq, w)
	return t, true
}

// leave takes w out of the queue of k, and reports false if its turn has come.
func (q *Queue[K, W, V]) leave(k K, w *waiter[W, V]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !w.queued {
		return false
	}
	q.removeLocked(q.queues[k], w)
	return true
}

// EndTurn ends the turn of k: the next waiter has it. From then on k is not known to be held.
func (q *Queue[K, W, V]) EndTurn(k K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kq := q.queues[k]
	if w := kq.first; w != nil {
		q.removeLocked(kq, w)
		kq.held = false
		w.turn <- Turn[V]{HasTurn: true, Held: w.sawHeld}
		return
	}
	delete(q.queues, k)
	*kq = keyQueue[W, V]{}
	q.spare = kq
}

// PassTurn passes the turn of k to the next waiter, along with a value, and reports whether it did. The turn stays if
// nobody waits, or if give, which gets what the next waiter wants, refuses. What is known of k stays. give runs
// under the queue's mutex: it must be quick and must not call the queue.
func (q *Queue[K, W, V]) PassTurn(k K, give func(want W) (V, bool)) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	kq := q.queues[k]
	w := kq.first
	if w == nil || w.leavesIfHeld {
		return false
	}
	value, ok := give(w.want)
	if !ok {
		return false
	}
	q.removeLocked(kq, w)
	w.turn <- Turn[V]{HasTurn: true, Value: value, Held: w.sawHeld}
	return true
}

// Waiting returns how many callers wait for the turn of k.
func (q *Queue[K, W, V]) Waiting(k K) int {
	if q.waiting.Load() == 0 {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if kq := q.queues[k]; kq != nil {
		return kq.length
	}
	return 0
}

func (q *Queue[K, W, V]) pushLocked(kq *keyQueue[W, V], w *waiter[W, V]) {
	q.waiting.Add(1)
	w.queued, w.prev = true, kq.last
	w.sawHeld, w.heldCountOnJoin = kq.held, kq.heldCount
	if w.leavesIfHeld {
		kq.leaversIfHeld++
	}
	if kq.last != nil {
		kq.last.next = w
	} else {
		kq.first = w
	}
	kq.last = w
	kq.length++
}

func (q *Queue[K, W, V]) removeLocked(kq *keyQueue[W, V], w *waiter[W, V]) {
	q.waiting.Add(-1)
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		kq.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		kq.last = w.prev
	}
	w.queued, w.prev, w.next = false, nil, nil
	w.sawHeld = w.sawHeld || kq.heldCount > w.heldCountOnJoin
	if w.leavesIfHeld {
		kq.leaversIfHeld--
	}
	kq.length--
}
