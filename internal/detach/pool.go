package detach

import (
	"sync"
	"time"
)

// Pool keeps goroutines that run calls, so that they are used again: starting one, with the stack that a request needs,
// costs as much as the rest of the library's work for a request. The zero value is ready. A nil Pool keeps none: each
// call has a new goroutine. All methods are safe for concurrent use.
type Pool struct {
	// Grace is how long a caller whose context has ended waits for the call to return by itself, because its outcome is
	// worth more than that of a call that was left. Set it before the first use.
	Grace time.Duration

	mu      sync.Mutex
	idle    []*worker // the last one was used last
	minIdle int       // fewest idle workers since the last trim
	timer   *time.Timer
	closed  bool
}

// worker is a goroutine that runs one task at a time.
type worker struct {
	tasks    chan func()
	done     chan struct{} // of capacity 1
	returnTo *Pool         // takes the worker back after its next task, unless nil
}

// workerIdleTime is how long a worker is kept without a task, at least; at most it is twice as long.
const workerIdleTime = 5 * time.Second

// get returns a worker for one task. The caller must give it back with put, or close tasks, so that it ends after its
// task.
func (p *Pool) get() *worker {
	if w := p.getIdle(); w != nil {
		return w
	}
	w := &worker{tasks: make(chan func(), 1), done: make(chan struct{}, 1)}
	go w.run()
	return w
}

// getIdle returns an idle worker, or nil.
func (p *Pool) getIdle() *worker {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	w := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	p.minIdle = min(p.minIdle, n-1)
	return w
}

// Go runs f in a goroutine of the pool, which must not be nil.
func (p *Pool) Go(f func()) {
	w := p.get()
	w.returnTo = p
	w.tasks <- f
}

// put takes back a worker whose task is done.
func (p *Pool) put(w *worker) {
	if p == nil {
		close(w.tasks)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		close(w.tasks)
		return
	}
	p.idle = append(p.idle, w)
	if p.timer == nil {
		p.minIdle = 0
		p.timer = time.AfterFunc(workerIdleTime, p.trim)
	}
}

// trim ends the workers that were not needed since the last trim.
func (p *Pool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(p.minIdle, len(p.idle))
	for _, w := range p.idle[:n] {
		close(w.tasks)
	}
	p.idle = append(p.idle[:0:0], p.idle[n:]...)
	p.minIdle, p.timer = len(p.idle), nil
	if len(p.idle) > 0 && !p.closed {
		p.timer = time.AfterFunc(workerIdleTime, p.trim)
	}
}

// Close ends the goroutines that are idle now, and others when they become idle. Calls may still be made.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.idle {
		close(w.tasks)
	}
	p.idle = nil
	if p.timer != nil {
		p.timer.Stop()
	}
}

func (w *worker) run() {
	for task := range w.tasks {
		p := w.returnTo
		w.returnTo = nil
		if task(); p != nil {
			p.put(w)
		}
	}
}
