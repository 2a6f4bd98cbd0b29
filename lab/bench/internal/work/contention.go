package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/bench/internal/wire"
)

const (
	heldFor = 5 * time.Millisecond // by each client
	// settle is how long clients form a queue before anything is counted: longer than one round
	// through the queue.
	settle = 500 * time.Millisecond
)

// openContention prepares a workload in which many clients, each with its own connections, want one
// name again and again, and hold it for 5 ms.
func openContention(e Env) (*Bench, error) {
	return openContentionOf(&contention{env: e,
		watch: func(context.Context, string) (Sample, error) { return nil, nil }})
}

func openContentionOf(c *contention) (*Bench, error) {
	e := c.env
	at := e.LibConfig()
	at.Sent = &c.sent
	for range e.Plan.Size {
		s, err := e.Library.Open(at)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.sessions = append(c.sessions, s)
	}
	return &Bench{Round: c.round, Close: c.close}, nil
}

type contention struct {
	env      Env
	sent     wire.Counter
	sessions []lib.Session
	// watch observes the contention after everything else has been measured.
	watch func(ctx context.Context, name string) (Sample, error)
}

func (c *contention) close() error {
	var errs []error
	for _, s := range c.sessions {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (c *contention) round(ctx context.Context, label string, d time.Duration) (Sample, error) {
	n := len(c.sessions)
	t := &tally{checker: checker.New(), turns: make([]int, n), asking: make([]time.Time, n)}
	name := c.env.Mark + "crowd:" + label
	all := startWorkers(ctx, n, func(ctx context.Context, i int) error { return t.turn(ctx, i, c.sessions[i], name) })
	seen, err := c.count(all.ctx, t, d)
	var more Sample
	if err == nil {
		more, err = c.watch(all.ctx, name)
	}
	t.over.Store(true)
	left, failed := all.stop(patience)
	if err := errors.Join(cmp.Or(failed, err), t.checker.Err()); err != nil {
		return nil, err
	}
	return slices.Concat(t.sample(seen), more, Sample{{leftWaiting, "", float64(left)}}), nil
}

// tally counts the turns of all clients.
type tally struct {
	checker  *checker.Checker
	counting atomic.Bool
	over     atomic.Bool

	mu     sync.Mutex
	turns  []int       // of each client
	asking []time.Time // since when each client has waited
	waits  []time.Duration
	gaps   []time.Duration // from a release to the next grant
	others int             // turns that did not go to the same client again
}

// turn waits for the name, holds it, and releases it.
func (t *tally) turn(ctx context.Context, i int, s lib.Session, name string) error {
	who := uint64(i + 1)
	asked := time.Now()
	t.mu.Lock()
	t.asking[i] = asked
	t.mu.Unlock()
	held, err := s.Lock(ctx, name)
	waited := time.Since(asked)
	if err != nil {
		return fmt.Errorf("after %v: %w", waited, err)
	}
	turn := t.checker.Enter(who, held.Token)
	t.mu.Lock()
	t.asking[i] = time.Time{}
	if t.counting.Load() {
		t.turns[i]++
		t.waits = append(t.waits, waited)
		t.gaps = append(t.gaps, turn.Gap)
		if turn.HandOver {
			t.others++
		}
	}
	t.mu.Unlock()
	if !t.over.Load() {
		spin(heldFor)
	}
	t.checker.Leave(who)
	return held.Release()
}

// measurement is what is not counted turn by turn.
type measurement struct {
	took    time.Duration
	sent    int64         // commands sent by clients
	served  float64       // commands counted by the server
	longest time.Duration // how long the longest waiting client has waited
}

// count lets the queue settle and then counts for the time d.
func (c *contention) count(ctx context.Context, t *tally, d time.Duration) (measurement, error) {
	if err := pause(ctx, settle); err != nil {
		return measurement{}, err
	}
	before, err := c.env.Backend.Load(ctx)
	if err != nil {
		return measurement{}, err
	}
	sent, began := c.sent.Commands(), time.Now()
	t.counting.Store(true)
	if err := pause(ctx, d); err != nil {
		return measurement{}, err
	}
	t.counting.Store(false)
	s := measurement{took: time.Since(began), sent: c.sent.Commands() - sent}
	after, err := c.env.Backend.Load(ctx)
	s.served = after.Commands - before.Commands
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, since := range t.asking {
		if !since.IsZero() {
			s.longest = max(s.longest, time.Since(since))
		}
	}
	return s, err
}

func (t *tally) sample(s measurement) Sample {
	n := len(t.waits)
	most, fewest, unfair := stat.Fairness(t.turns)
	gap, p99 := stat.Percentile(t.gaps, 0.5), stat.Percentile(t.waits, 0.99)
	ideal := time.Duration(len(t.turns)) * (heldFor + gap)
	return Sample{
		{handOvers, "/s", perSecond(n, s.took)},
		{rateToIdeal, "", perSecond(n, s.took) * heldFor.Seconds()},
		{toAnother, "%", 100 * float64(t.others) / float64(n)},
		{clientCommands, "", float64(s.sent) / float64(n)},
		{serverCommands, "", s.served / float64(n)},
		{"most turns", "", float64(most)},
		{"fewest turns", "", float64(fewest)},
		{unfairness, "", unfair},
		{handOverP50, "µs", float64(gap) / microsecond},
		{"hand-over p90", "µs", float64(stat.Percentile(t.gaps, 0.9)) / microsecond},
		{"hand-over p99", "µs", float64(stat.Percentile(t.gaps, 0.99)) / microsecond},
		{WaitP50, "ms", float64(stat.Percentile(t.waits, 0.5)) / millisecond},
		{WaitP90, "ms", float64(stat.Percentile(t.waits, 0.9)) / millisecond},
		{WaitP99, "ms", float64(p99) / millisecond},
		{WaitLongest, "ms", float64(max(s.longest, stat.Percentile(t.waits, 1))) / millisecond},
		{WaitIdeal, "ms", float64(ideal) / millisecond},
		{waitToIdeal, "", float64(p99) / float64(ideal)},
	}
}
