package simulator

import (
	"flag"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// schedulesForAllEvents is how many schedules it takes for every possible event to happen.
const schedulesForAllEvents = 40

var (
	// The race detector makes each schedule many times slower.
	schedules = flag.Int("schedules", map[bool]int{false: schedulesForAllEvents, true: 4}[raceEnabled],
		"how many seeded schedules TestSchedules runs; make schedules runs many")
	oneSeed = flag.Uint64("seed", 0, "run only the schedule of this seed, and print what happens in it")
)

// Programs on bad networks share a server, or a Cluster of three masters. Clocks of servers are off
// and run at different rates. Requests are late, or lost, or held back until the next grant.
// Servers freeze, start again empty or with old data, or are replaced by empty spares that have run
// for long. Slots move, and are reassigned when they are half moved, or when their master is
// frozen. Whatever happens, nobody holds
// beside another, tokens grow, and when all faults are over, everybody gets what they ask for. All
// of it happens in virtual time.
func TestSchedules(t *testing.T) {
	if *oneSeed != 0 {
		w := runSchedule(t, *oneSeed, nil)
		t.Logf("schedule %d:\n%s", *oneSeed, strings.Join(w.transcript(), "\n"))
		w.failIfViolated(t)
		return
	}
	n := *schedules
	shards := runtime.GOMAXPROCS(0)
	var mu sync.Mutex
	var events counts
	t.Run("shards", func(all *testing.T) {
		for shard := range shards {
			all.Run("", func(t *testing.T) {
				t.Parallel()
				for seed := 1 + shard; seed <= n && !all.Failed(); seed += shards {
					w := runSchedule(t, uint64(seed), nil)
					w.failIfViolated(t)
					mu.Lock()
					events.add(&w.counts)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d schedules: %+v", n, events)
	for i, count := range events.all() {
		if *count == 0 && n >= schedulesForAllEvents {
			t.Errorf("event %d never happened: %+v", i, events)
		}
	}
}

func runSchedule(t *testing.T, seed uint64, planted plantedFault) (w *simulation) {
	synctest.Test(t, func(t *testing.T) {
		w = newSimulation(seed, planted)
		w.run()
	})
	return w
}

// failIfViolated fails the test if a promise was broken. The engine chooses when waiters poll, so a
// seed stands for schedules that are similar, but not equal.
func (w *simulation) failIfViolated(t *testing.T) {
	if len(w.violations) > 0 {
		t.Errorf("schedule %d broke a promise: %s\n"+
			"to see one like it: go test -run 'TestSchedules$' -seed %d -count 20 .\n%s",
			w.seed, w.violations[0], w.seed, strings.Join(w.transcript(), "\n"))
	}
}

// counts counts the events that the schedules exist for.
type counts struct {
	grants, refused, released, lost, unknown, heldBack              int
	restarts, spares, restored, frozen, displaced, moved, halfMoved int
}

func (c *counts) all() []*int {
	return []*int{&c.grants, &c.refused, &c.released, &c.lost, &c.unknown, &c.heldBack, &c.restarts, &c.spares,
		&c.restored, &c.frozen, &c.displaced, &c.moved, &c.halfMoved}
}

func (c *counts) add(o *counts) {
	for i, n := range o.all() {
		*c.all()[i] += *n
	}
}
