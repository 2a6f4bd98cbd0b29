package leasehold

import (
	"sync"
	"time"
)

// workerPool keeps goroutines that run requests, so that a caller can leave an engine that does not return. Goroutines
// are used again: starting one costs as much as the rest of the library's work for a request.
type workerPool struct {
	mu      sync.Mutex
	idle    []*worker // the last one was used last
	minIdle int       // fewest idle workers since the last trim
	timer   *time.Timer
	closed  bool
}

// worker is a goroutine that runs one task at a time.
type worker struct {
	tasks chan func()
	done  chan struct{} // of capacity 1
	limit *time.Timer   // for the goroutine that waits for the task; stopped while the worker is idle
}

// workerIdleTime is how long a worker is kept without a task, at least; at most it is twice as long.
const workerIdleTime = 5 * time.Second

// get returns a worker for one task. The caller must give it back with put, or close tasks, so that it ends after its
// task.
func (p *workerPool) get() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.minIdle = min(p.minIdle, n-1)
		return w
	}
	w := &worker{tasks: make(chan func(), 1), done: make(chan struct{}, 1), limit: time.NewTimer(time.Hour)}
	w.limit.Stop()
	go w.run()
	return w
}

// put takes back a worker whose task is done.
func (p *workerPool) put(w *worker) {
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
func (p *workerPool) trim() {
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

// close ends the workers that are idle now, and others when they become idle.
func (p *workerPool) close() {
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
		task()
	}
}
