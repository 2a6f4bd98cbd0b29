// Package localqueue lets the callers of one process wait for each other, first come first
// served, before they ask a server: one process is then one waiter there, however
// many of its goroutines want the same thing.
//
// For each key there is one turn. Whoever has it may ask the server, and keeps it
// for as long as nobody else of this process could succeed. Then the turn goes to the next in
// line, perhaps together with a gift: what the one before held, ready for use.
package localqueue

import (
	"context"
	"sync"
)

// Queue is the lines of all keys. W is what a waiter wants, G what it may be
// given along with its turn. The zero value is ready for use, by many
// goroutines.
type Queue[K comparable, W, G any] struct {
	mu    sync.Mutex
	lines map[K]*line[W, G]
	spare *line[W, G] // one unused line, so that free keys cost no memory each time
}

// line exists while somebody has the turn of its key.
type line[W, G any] struct {
	first, last *waiter[W, G]
	length      int
}

type waiter[W, G any] struct {
	want       W
	turn       chan turn[G] // of capacity 1; receives once
	queued     bool
	prev, next *waiter[W, G]
}

type turn[G any] struct {
	gift   G
	gifted bool
}

// Try takes the turn of k if nobody has it, and reports whether it did.
func (q *Queue[K, W, G]) Try(k K) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.try(k)
}

func (q *Queue[K, W, G]) try(k K) bool {
	if _, taken := q.lines[k]; taken {
		return false
	}
	l := q.spare
	if l == nil {
		l = new(line[W, G])
	}
	q.spare = nil
	if q.lines == nil {
		q.lines = make(map[K]*line[W, G])
	}
	q.lines[k] = l
	return true
}

// Wait waits for the turn of k. With gifted, the turn came with a gift. If ctx ends or stop is
// closed first, Wait gives up its place and reports ok false. If the turn came at the same moment,
// the caller has it, with ok true: it must look at ctx itself.
func (q *Queue[K, W, G]) Wait(ctx context.Context, stop <-chan struct{}, k K, want W) (gift G, gifted, ok bool) {
	q.mu.Lock()
	if q.try(k) {
		q.mu.Unlock()
		return gift, false, true
	}
	w := &waiter[W, G]{want: want, turn: make(chan turn[G], 1)}
	l := q.lines[k]
	l.push(w)
	q.mu.Unlock()

	select {
	case t := <-w.turn:
		return t.gift, t.gifted, true
	case <-ctx.Done():
	case <-stop:
	}
	q.mu.Lock()
	waiting := w.queued
	if waiting {
		l.remove(w)
	}
	q.mu.Unlock()
	if waiting {
		return gift, false, false
	}
	t := <-w.turn
	return t.gift, t.gifted, true
}

// Done ends the turn of k: the next in line has it.
func (q *Queue[K, W, G]) Done(k K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[k]
	if w := l.first; w != nil {
		l.remove(w)
		w.turn <- turn[G]{}
		return
	}
	delete(q.lines, k)
	q.spare = l
}

// Pass ends the turn of k in favour of the next in line, with a gift, and reports whether
// it did. It leaves the turn where it is if nobody waits, or if give, which is told
// what the next in line wants, refuses. give runs under the queue's lock: it must be quick and must
// not call the queue.
func (q *Queue[K, W, G]) Pass(k K, give func(want W) (G, bool)) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[k]
	w := l.first
	if w == nil {
		return false
	}
	gift, ok := give(w.want)
	if !ok {
		return false
	}
	l.remove(w)
	w.turn <- turn[G]{gift: gift, gifted: true}
	return true
}

// Waiting returns how many wait for the turn of k.
func (q *Queue[K, W, G]) Waiting(k K) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lines[k]; l != nil {
		return l.length
	}
	return 0
}

func (l *line[W, G]) push(w *waiter[W, G]) {
	w.queued, w.prev = true, l.last
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
	l.length++
}

func (l *line[W, G]) remove(w *waiter[W, G]) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.last = w.prev
	}
	w.queued, w.prev, w.next = false, nil, nil
	l.length--
}
