// Package localqueue lets the callers of one process wait for each other, first come first
// served, before they ask a server: one process is then one waiter there, however
// many of its goroutines want the same thing.
//
// For each key there is one turn. Whoever has it may ask the server, and keeps it
// for as long as nobody else of this process could succeed. Then the turn goes to the next in
// line, perhaps together with a gift: what the one before held, ready for use.
//
// Whoever has the turn also says what it knows: that what the key stands for is held, by itself or
// by others elsewhere. To wait is not to know that.
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
	held        bool // is known to be held
	told        int  // how often that has become known
	unless      int  // waiters who go when it becomes known
}

type waiter[W, G any] struct {
	want       W
	turn       chan Turn[G] // of capacity 1; receives once
	queued     bool
	unless     bool // goes when it becomes known that it is held
	held       bool // that was known when it came, or has become known since
	told       int  // of the line, when it came
	prev, next *waiter[W, G]
}

// Turn is what has come of a wait.
type Turn[G any] struct {
	// Mine is set if the caller has the turn.
	Mine bool
	// Gift is what came with it, if Gifted is set.
	Gift   G
	Gifted bool
	// Full is set if the caller did not wait, since as many others do as may.
	Full bool
	// Held is set if at some moment of the wait whoever had the turn knew that it is held.
	Held bool
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

// Held reports whether whoever has the turn of k knows that it is held.
func (q *Queue[K, W, G]) Held(k K) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[k]
	return l != nil && l.held
}

// SetHeld is called by whoever has the turn of k: it knows now that it is held, or does not know it any more.
func (q *Queue[K, W, G]) SetHeld(k K, held bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[k]
	if held && !l.held {
		l.told++
	}
	l.held = held
	for w := l.first; held && l.unless > 0; {
		next := w.next
		if w.unless {
			l.remove(w)
			w.turn <- Turn[G]{Held: true}
		}
		w = next
	}
}

// Wait waits for the turn of k, unless as many as most wait for it already; 0 is no limit. If ctx ends or stop is closed first, it gives up its place. If the turn came at the same moment,
// the caller has it: it must look at ctx itself.
func (q *Queue[K, W, G]) Wait(ctx context.Context, stop <-chan struct{}, k K, most int, want W) Turn[G] {
	return q.wait(ctx, stop, k, most, &waiter[W, G]{want: want})
}

// WaitUnlessHeld is Wait for a caller who gives up as soon as it is known that it is held. A gift is never given to it.
func (q *Queue[K, W, G]) WaitUnlessHeld(ctx context.Context, stop <-chan struct{}, k K, most int) Turn[G] {
	return q.wait(ctx, stop, k, most, &waiter[W, G]{unless: true})
}

func (q *Queue[K, W, G]) wait(ctx context.Context, stop <-chan struct{}, k K, most int, w *waiter[W, G]) Turn[G] {
	q.mu.Lock()
	if q.try(k) {
		q.mu.Unlock()
		return Turn[G]{Mine: true}
	}
	l := q.lines[k]
	if w.unless && l.held {
		q.mu.Unlock()
		return Turn[G]{Held: true}
	}
	if most > 0 && l.length >= most {
		held := l.held
		q.mu.Unlock()
		return Turn[G]{Full: true, Held: held}
	}
	w.turn = make(chan Turn[G], 1)
	l.push(w)
	q.mu.Unlock()

	select {
	case t := <-w.turn:
		return t
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
		return Turn[G]{Held: w.held}
	}
	return <-w.turn
}

// Done ends the turn of k: the next in line has it. Nobody knows then whether it is held.
func (q *Queue[K, W, G]) Done(k K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[k]
	if w := l.first; w != nil {
		l.remove(w)
		l.held = false
		w.turn <- Turn[G]{Mine: true, Held: w.held}
		return
	}
	delete(q.lines, k)
	*l = line[W, G]{}
	q.spare = l
}

// Pass ends the turn of k in favour of the next in line, with a gift, and reports whether
// it did. It leaves the turn where it is if nobody waits, or if give, which is told
// what the next in line wants, refuses. What is known of it stays. give runs under the queue's lock: it must be quick and must
// not call the queue.
func (q *Queue[K, W, G]) Pass(k K, give func(want W) (G, bool)) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[k]
	w := l.first
	if w == nil || w.unless {
		return false
	}
	gift, ok := give(w.want)
	if !ok {
		return false
	}
	l.remove(w)
	w.turn <- Turn[G]{Mine: true, Gift: gift, Gifted: true, Held: w.held}
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
	w.held, w.told = l.held, l.told
	if w.unless {
		l.unless++
	}
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
	w.held = w.held || l.told > w.told
	if w.unless {
		l.unless--
	}
	l.length--
}
