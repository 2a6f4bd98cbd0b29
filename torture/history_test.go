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
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// What clients did with one name, as the checker of linearizability is told: taking it (with a token), and the end of what was taken. A lease that was not
// released for certain ends at some time between then and its deadline.
type (
	step struct {
		client int
		ends   bool
	}
	// held is the state of a name: who holds it, 0 is nobody, and the last token given.
	held struct {
		by   int
		last uint64
	}
)

// oneHolder is the model: one at a time, and tokens that grow.
var oneHolder = porcupine.Model{
	Init: func() any { return held{} },
	Step: func(state, input, output any) (bool, any) {
		s, do := state.(held), input.(step)
		if do.ends {
			return s.by == do.client, held{0, s.last}
		}
		token := output.(uint64)
		return s.by == 0 && token > s.last, held{do.client, token}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v %v", input, output) },
}

// history is what was done with one name.
type history struct {
	mu    sync.Mutex
	steps []porcupine.Operation
}

func (h *history) add(do step, token uint64, called, returned time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, porcupine.Operation{ClientId: do.client, Input: do, Output: token, Call: called.UnixNano(), Return: returned.UnixNano()})
}

// The model refuses what must not be.
func TestTheModelOfHistories(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	for name, c := range map[string]struct {
		record func(h *history)
		want   porcupine.CheckResult
	}{
		"one after the other": {func(h *history) {
			h.add(step{1, false}, 5, at(0), at(1))
			h.add(step{1, true}, 0, at(2), at(3))
			h.add(step{2, false}, 6, at(1), at(4))
		}, porcupine.Ok},
		"two at once": {func(h *history) {
			h.add(step{1, false}, 5, at(0), at(1))
			h.add(step{2, false}, 6, at(1), at(2))
			h.add(step{1, true}, 0, at(3), at(4))
		}, porcupine.Illegal},
		"token that does not grow": {func(h *history) {
			h.add(step{1, false}, 5, at(0), at(1))
			h.add(step{1, true}, 0, at(2), at(3))
			h.add(step{2, false}, 5, at(4), at(5))
		}, porcupine.Illegal},
	} {
		h := &history{}
		c.record(h)
		if got := porcupine.CheckOperationsTimeout(oneHolder, h.steps, time.Minute); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Six clients take three names on five servers, while servers crash and freeze, and the networks of three clients and of the three others break in all ways. What they
// saw is checked afterwards: whatever happens to networks, and to fewer than half of the servers, one at a time has a name, and tokens grow.
func TestHistoriesOfAQuorumWithFaults(t *testing.T) {
	t.Parallel()
	const (
		clients = 6
		ttl     = time.Second
		lasting = 10 * time.Second
		enough  = 200 // steps; on a slow machine they take longer
	)
	names := []string{"a", "b", "c"}
	histories := map[string]*history{}
	for _, name := range names {
		histories[name] = &history{}
	}
	servers := fiveServers(t, "appendonly yes", "appendfsync always")
	networks := []network{networkTo(t, servers), networkTo(t, servers)}
	ctx, cancel := context.WithTimeout(t.Context(), 4*lasting)
	defer cancel()
	began := time.Now()
	var work sync.WaitGroup
	for i := range clients {
		c := openRedlock(t, networks[i%2].addresses(), redlock.WithNodeTimeout(time.Second))
		work.Go(func() { workOn(ctx, t, c, i+1, ttl, names, histories) })
	}
	for i, n := range networks {
		work.Go(func() { // links
			chance := rand.New(rand.NewPCG(4, uint64(i)))
			for ctx.Err() == nil {
				hit := chance.Perm(len(n))[:1+chance.IntN(2)]
				if chance.IntN(16) == 0 {
					hit = chance.Perm(len(n))[:3]
				}
				mend := n.harm(faults[chance.IntN(len(faults))], hit...)
				pause(ctx, time.Duration(50+chance.IntN(400))*time.Millisecond)
				mend()
				pause(ctx, time.Duration(chance.IntN(600))*time.Millisecond)
			}
		})
	}
	chance := rand.New(rand.NewPCG(1, 2)) // servers
	for ctx.Err() == nil && (time.Since(began) < lasting || steps(histories) < enough) {
		mend := harm(t, servers[chance.IntN(len(servers))], chance.IntN(2))
		pause(ctx, time.Duration(50+chance.IntN(400))*time.Millisecond)
		mend()
		pause(ctx, time.Duration(chance.IntN(1000))*time.Millisecond)
	}
	cancel()
	work.Wait()
	for name, h := range histories {
		if got := porcupine.CheckOperationsTimeout(oneHolder, h.steps, time.Minute); got != porcupine.Ok { // Unknown is no better than Illegal
			t.Errorf("the history of %s is %v", name, got)
		}
	}
	if n := steps(histories); n < enough {
		t.Errorf("only %d steps: nothing is shown", n)
	} else {
		t.Logf("%d steps", n)
	}
}

// steps is how many there are in all histories.
func steps(histories map[string]*history) (n int) {
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

// harm does something to one server, and returns what undoes it.
func harm(t *testing.T, s *redisserver.Server, how int) (mend func()) {
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	if how == 0 {
		check(s.Pause())
		return func() { check(s.Resume()) }
	}
	s.Kill() // it has written down all it has said
	return func() { check(s.Restart()) }
}

// workOn takes names and releases them.
func workOn(ctx context.Context, t *testing.T, c *leasehold.Client, client int, ttl time.Duration, names []string, histories map[string]*history) {
	rng := rand.New(rand.NewPCG(uint64(client), 3))
	for ctx.Err() == nil {
		name := names[rng.IntN(len(names))]
		h := histories[name]
		m := c.Mutex(name, leasehold.TTL(ttl))
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
			called = called.Add(-ttl)
			if deadline.After(end) {
				end = deadline
			}
		default:
			t.Errorf("Release: %v", err)
		}
		h.add(step{client, true}, 0, called, end)
	}
}
