package real

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// environment is the environment of one run. Functions passed to Go are goroutines, and end wherever they are if the
// run is aborted.
type environment struct {
	ctx        context.Context // done when the run is aborted
	abort      context.CancelCauseFunc
	setup      scenario.Setup
	name       string
	recorder   *timeline.Recorder
	nodes      []*node
	replicated *redisserver.Replicated // servers that no other run uses
	clients    []*client
	counter    *goredis.Client
	writeMu    sync.Mutex // so that writes are recorded in their order

	pending   []func() // passed to Go before the run
	startedAt time.Time
	routines  sync.WaitGroup

	mu       sync.Mutex
	happened map[scenario.Event]bool
	changed  chan struct{} // closed when another event happens
}

var _ scenario.Environment = (*environment)(nil)

// newEnvironment creates an environment. Close it even after an error.
func (h *Servers) newEnvironment(ctx context.Context, s scenario.Setup, name string) (*environment, error) {
	e := &environment{setup: s, name: name, happened: map[scenario.Event]bool{}, changed: make(chan struct{})}
	e.ctx, e.abort = context.WithCancelCause(ctx)
	e.recorder = timeline.New(func() time.Duration { return time.Since(e.startedAt) })
	e.counter = goredis.NewClient(clientOptions(h.servers[0].Addr()))
	if s.Replica {
		var err error
		if e.replicated, err = redisserver.StartReplicated(1, redisserver.Config{}); err != nil {
			return e, err
		}
		e.nodes = []*node{newNode(e.replicated.Master)}
		return e, nil
	}
	for _, server := range h.servers[:s.Servers] {
		e.nodes = append(e.nodes, newNode(server))
	}
	return e, nil
}

// run runs the case to its end.
func (e *environment) run(begin func(scenario.Environment)) error {
	begin(e)
	if err := e.counter.Set(e.ctx, e.name, 0, 0).Err(); err != nil {
		return err
	}
	if err := e.prepare(); err != nil {
		return err
	}
	if err := e.detachReplica(); err != nil {
		return err
	}
	e.startedAt = time.Now()
	begun := e.pending
	e.pending = nil
	for _, f := range begun {
		e.Go(f)
	}
	e.routines.Wait()
	return context.Cause(e.ctx)
}

// prepare makes all clients take a lock once, so that they are connected and the servers vote.
func (e *environment) prepare() error {
	errs := make([]error, len(e.clients))
	var all sync.WaitGroup
	for i, c := range e.clients {
		all.Go(func() { errs[i] = c.locker.prepare(e.ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// close ends everything. Clients that were stopped or cut off can send again, to release what they have.
func (e *environment) close() error {
	e.abort(nil)
	var all sync.WaitGroup
	for _, c := range e.clients {
		all.Go(c.close)
	}
	all.Wait()
	err := e.counter.Close()
	if e.replicated != nil {
		err = errors.Join(err, e.replicated.Close())
	}
	return err
}

// fail aborts the run and ends the goroutine.
func (e *environment) fail(err error) {
	e.abort(err)
	runtime.Goexit()
}

// TTL implements [scenario.Environment].
func (e *environment) TTL() time.Duration { return ttl }

// Recorder implements [scenario.Environment].
func (e *environment) Recorder() *timeline.Recorder { return e.recorder }

// Go implements [scenario.Environment].
func (e *environment) Go(f func()) {
	if e.startedAt.IsZero() {
		e.pending = append(e.pending, f)
		return
	}
	e.routines.Go(f)
}

// Sleep implements [scenario.Environment].
func (e *environment) Sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-e.ctx.Done():
		runtime.Goexit()
	}
}

// Signal implements [scenario.Environment].
func (e *environment) Signal(m scenario.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.happened[m] {
		e.happened[m] = true
		close(e.changed)
		e.changed = make(chan struct{})
	}
}

// Await implements [scenario.Environment].
func (e *environment) Await(most time.Duration, any ...scenario.Event) scenario.Event {
	t := time.NewTimer(most)
	defer t.Stop()
	for {
		m, changed := e.firstHappened(any)
		if m != "" {
			return m
		}
		select {
		case <-changed:
		case <-t.C:
			return ""
		case <-e.ctx.Done():
			runtime.Goexit()
		}
	}
}

// firstHappened returns the first of the events that has happened, or "" and a channel that is closed when another one
// happens.
func (e *environment) firstHappened(any []scenario.Event) (scenario.Event, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range any {
		if e.happened[m] {
			return m, nil
		}
	}
	return "", e.changed
}
