// Package taskqueue runs tasks a few at a time; the others wait in order.
package taskqueue

import "sync"

// Queue runs tasks. It is safe for concurrent use.
type Queue[T any] struct {
	max   int
	start func(func()) bool
	do    func(T)

	mu      sync.Mutex
	running int
	waiting []T
	stopped bool
}

// Init makes the queue ready for use. It calls do for at most max tasks at a time, in goroutines that start starts.
// start reports false if it starts none any more.
func (q *Queue[T]) Init(max int, start func(func()) bool, do func(T)) {
	q.max, q.start, q.do = max, start, do
}

// Add runs t now or later. It reports false, and does nothing, if the queue is stopped or no goroutine can be started.
func (q *Queue[T]) Add(t T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.stopped:
		return false
	case q.running >= q.max:
		q.waiting = append(q.waiting, t)
		return true
	}
	started := q.start(func() {
		for more := true; more; t, more = q.next() {
			q.do(t)
		}
	})
	if started {
		q.running++
	}
	return started
}

// next ends a task and returns the next one, if any.
func (q *Queue[T]) next() (t T, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.running--
		q.waiting = nil
		return t, false
	}
	t, q.waiting[0] = q.waiting[0], t
	q.waiting = q.waiting[1:]
	return t, true
}

// Stop returns the tasks that wait. From now on none is added.
func (q *Queue[T]) Stop() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.waiting
	q.waiting, q.stopped = nil, true
	return waiting
}
