package real

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// world is the world of one play. Functions that Go has begun are goroutines, and end wherever they are if the play is called off.
type world struct {
	ctx     context.Context // done when the play is called off
	callOff context.CancelCauseFunc
	setup   stage.Setup
	name    string
	tape    *tape.Tape
	nodes   []*node
	own     *redisserver.Replicated // servers that no other play has
	clients []*client
	counter *goredis.Client
	writes  sync.Mutex // so that writes are recorded in their order

	begun  []func() // before the play has begun
	begins time.Time
	actors sync.WaitGroup

	mu      sync.Mutex
	came    map[stage.Moment]bool
	changed chan struct{} // closed when another moment comes
}

var _ stage.World = (*world)(nil)

// world makes a world. It must be closed in any case.
func (h *House) world(ctx context.Context, s stage.Setup, name string) (*world, error) {
	w := &world{setup: s, name: name, came: map[stage.Moment]bool{}, changed: make(chan struct{})}
	w.ctx, w.callOff = context.WithCancelCause(ctx)
	w.tape = tape.New(func() time.Duration { return time.Since(w.begins) })
	w.counter = goredis.NewClient(options(h.servers[0].Addr()))
	if s.Replica {
		var err error
		if w.own, err = redisserver.StartReplicated(1, redisserver.Config{}); err != nil {
			return w, err
		}
		w.nodes = []*node{newNode(w.own.Master)}
		return w, nil
	}
	for _, server := range h.servers[:s.Servers] {
		w.nodes = append(w.nodes, newNode(server))
	}
	return w, nil
}

// play plays to the end.
func (w *world) play(begin func(stage.World)) error {
	begin(w)
	if err := w.counter.Set(w.ctx, w.name, 0, 0).Err(); err != nil {
		return err
	}
	if err := w.prepare(); err != nil {
		return err
	}
	if err := w.detachReplica(); err != nil {
		return err
	}
	w.begins = time.Now()
	begun := w.begun
	w.begun = nil
	for _, f := range begun {
		w.Go(f)
	}
	w.actors.Wait()
	return context.Cause(w.ctx)
}

// prepare lets all clients take a lock once, so that connections are there and servers vote.
func (w *world) prepare() error {
	errs := make([]error, len(w.clients))
	var all sync.WaitGroup
	for i, c := range w.clients {
		all.Go(func() { errs[i] = c.locker.prepare(w.ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// close ends all that the play has begun. Whoever stood still or was cut off can speak again, to say goodbye.
func (w *world) close() error {
	w.callOff(nil)
	var all sync.WaitGroup
	for _, c := range w.clients {
		all.Go(c.close)
	}
	all.Wait()
	err := w.counter.Close()
	if w.own != nil {
		err = errors.Join(err, w.own.Close())
	}
	return err
}

// fail calls the play off, and ends the goroutine.
func (w *world) fail(err error) {
	w.callOff(err)
	runtime.Goexit()
}

// TTL implements [stage.World].
func (w *world) TTL() time.Duration { return ttl }

// Tape implements [stage.World].
func (w *world) Tape() *tape.Tape { return w.tape }

// Go implements [stage.World].
func (w *world) Go(f func()) {
	if w.begins.IsZero() {
		w.begun = append(w.begun, f)
		return
	}
	w.actors.Go(f)
}

// Sleep implements [stage.World].
func (w *world) Sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.ctx.Done():
		runtime.Goexit()
	}
}

// Fire implements [stage.World].
func (w *world) Fire(m stage.Moment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.came[m] {
		w.came[m] = true
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// Await implements [stage.World].
func (w *world) Await(most time.Duration, any ...stage.Moment) stage.Moment {
	t := time.NewTimer(most)
	defer t.Stop()
	for {
		m, changed := w.first(any)
		if m != "" {
			return m
		}
		select {
		case <-changed:
		case <-t.C:
			return ""
		case <-w.ctx.Done():
			runtime.Goexit()
		}
	}
}

// first returns the first of some moments that has come, or "" and what is closed when another comes.
func (w *world) first(any []stage.Moment) (stage.Moment, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range any {
		if w.came[m] {
			return m, nil
		}
	}
	return "", w.changed
}
