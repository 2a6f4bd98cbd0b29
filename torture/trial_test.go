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

// trial is that clients take names and release them, while harm is done to what they stand on. What they saw is judged afterwards: whatever happens, one
// at a time has a name, and tokens grow.
type trial struct {
	clients []*leasehold.Client
	names   int
	ttl     time.Duration // of the leases
	lasting time.Duration // at least, and twelve times as long at most
	enough  int           // steps; on a slow machine they take longer
	harm    []harm
}

// harm is done again and again, in one way or another.
type harm struct {
	do          func(chance *rand.Rand) (mend func()) // it fails the test and returns nil if it cannot be done
	least, more time.Duration                         // it lasts for so long, and for up to so much more
	rest        time.Duration                         // there is none for up to so long
}

// again does harm until the context is done, and mends it. It returns how often.
func (h harm) again(ctx context.Context, chance *rand.Rand) (times int) {
	upTo := func(d time.Duration) time.Duration { return time.Duration(chance.Int64N(int64(d))) }
	for ; ctx.Err() == nil; times++ {
		mend := h.do(chance)
		if mend == nil {
			break
		}
		pause(ctx, h.least+upTo(h.more))
		mend()
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
	ctx, cancel := context.WithTimeout(t.Context(), 12*r.lasting)
	defer cancel()
	var all sync.WaitGroup
	for i := range r.clients {
		all.Go(func() { r.work(ctx, t, i+1, histories) })
	}
	for i, h := range r.harm {
		chance := rand.New(rand.NewPCG(uint64(3*i+1), uint64(3*i+2))) // other harm than that of the others, and the same in each run
		all.Go(func() {
			if h.again(ctx, chance) == 0 {
				t.Errorf("harm %d was never done", i)
			}
		})
	}
	for began := time.Now(); ctx.Err() == nil && (time.Since(began) < r.lasting || steps(histories) < r.enough); {
		pause(ctx, 100*time.Millisecond)
	}
	cancel()
	all.Wait()
	for i, h := range histories {
		if got := h.judge(); got != porcupine.Ok {
			t.Errorf("the history of name %d is %v", i, got)
		}
	}
	if n := steps(histories); n < r.enough {
		t.Errorf("only %d steps: nothing is shown", n)
	} else {
		t.Logf("%d steps", n)
	}
}

// steps is how many there are in all histories.
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
			// It was over for the client no later than its deadline, and the servers may have let others in before.
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

// server is one that can be lost.
type server interface {
	Pause() error
	Resume() error
	Kill()
	Restart() error
}

// lose freezes or kills a server that has written down all it has said, and returns what undoes it.
func lose(t *testing.T, s server, how int) (mend func()) {
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
