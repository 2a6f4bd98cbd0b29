package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leasehold-go/leasehold"
)

// trial lets clients take names and release them, while disturbances happen. Afterwards their
// histories are checked: whatever has happened, each name had one holder at a time, and tokens
// grew.
type trial struct {
	clients      []client
	names        int
	ttl          time.Duration // of the leases
	minLength    time.Duration // at most twelve times as long
	minSteps     int           // on a slow machine they take longer
	disturbances []disturbance
}

// disturbance is a fault that happens again and again, with variations.
type disturbance struct {
	start func(chance *rand.Rand) (fix func()) // fails the test and returns nil if it cannot be done
	// How long it lasts: at least, and how much more at most.
	minLength, moreLength time.Duration
	rest                  time.Duration // the longest pause between two
}

// repeat starts and fixes faults until the context is done. It returns how often.
func (h disturbance) repeat(ctx context.Context, chance *rand.Rand) (times int) {
	upTo := func(d time.Duration) time.Duration { return time.Duration(chance.Int64N(int64(d))) }
	for ; ctx.Err() == nil; times++ {
		fix := h.start(chance)
		if fix == nil {
			break
		}
		pause(ctx, h.minLength+upTo(h.moreLength))
		fix()
		pause(ctx, upTo(h.rest))
	}
	return times
}

func (r trial) run(t *testing.T) {
	t.Helper()
	histories := make([]*history, r.names)
	for i := range histories {
		histories[i] = &history{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 12*r.minLength)
	defer cancel()
	var all sync.WaitGroup
	for i := range r.clients {
		all.Go(func() { r.work(ctx, t, i+1, histories) })
	}
	for i, h := range r.disturbances {
		// Differs from the others, and is the same in each run.
		chance := rand.New(rand.NewPCG(uint64(3*i+1), uint64(3*i+2)))
		all.Go(func() {
			if h.repeat(ctx, chance) == 0 {
				t.Errorf("disturbance %d never happened", i)
			}
		})
	}
	for began := time.Now(); ctx.Err() == nil && (time.Since(began) < r.minLength || steps(histories) < r.minSteps); {
		pause(ctx, 100*time.Millisecond)
	}
	cancel()
	all.Wait()
	for i, h := range histories {
		if got := h.check(); got != porcupine.Ok {
			t.Errorf("the history of name %d is %v", i, got)
		}
	}
	if n := steps(histories); n < r.minSteps {
		t.Errorf("only %d steps: nothing is shown", n)
	} else {
		t.Logf("%d steps", n)
	}
}

// steps returns the number of steps in all histories.
func steps(histories []*history) (n int) {
	for _, h := range histories {
		h.mu.Lock()
		n += len(h.steps)
		h.mu.Unlock()
	}
	return n
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// work takes names and releases them.
func (r trial) work(ctx context.Context, t *testing.T, client int, histories []*history) {
	rng := rand.New(rand.NewPCG(uint64(client), 3))
	for ctx.Err() == nil {
		name := rng.IntN(len(histories))
		h := histories[name]
		m := r.clients[client-1].Mutex(fmt.Sprint("name ", name), leasehold.TTL(r.ttl))
		called := time.Now()
		take := m.TryLock
		if rng.IntN(2) == 0 {
			take = m.Lock
		}
		lease, err := take(ctx)
		if err != nil {
			continue
		}
		h.add(step{client, false}, lease.Token(), called, time.Now())
		pause(ctx, time.Duration(rng.IntN(30))*time.Millisecond)
		called = time.Now()
		deadline := lease.Deadline()
		err = lease.Release()
		end := time.Now()
		switch {
		case err == nil:
		case errors.Is(err, leasehold.ErrLost), errors.Is(err, leasehold.ErrUnknown):
			// The lease ended for the client no later than its deadline, and the servers may have
			// granted others earlier.
			called = called.Add(-r.ttl)
			if deadline.After(end) {
				end = deadline
			}
		default:
			t.Errorf("Release: %v", err)
		}
		h.add(step{client, true}, 0, called, end)
	}
}

// server is a server that can fail.
type server interface {
	Pause() error
	Resume() error
	Kill()
	Restart() error
}

// disturb freezes or kills a server with durable storage, and returns the function that undoes it.
func disturb(t *testing.T, s server, how int) (fix func()) {
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	if how == 0 {
		check(s.Pause())
		return func() { check(s.Resume()) }
	}
	s.Kill()
	return func() { check(s.Restart()) }
}
