package simulator

import (
	"flag"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// enough is how many schedules it takes for everything to happen that may.
const enough = 40

var (
	// The race detector makes each schedule many times slower.
	schedules = flag.Int("schedules", map[bool]int{false: enough, true: 4}[raceEnabled], "how many seeded schedules TestSchedules runs; make schedules runs many")
	oneSeed   = flag.Uint64("seed", 0, "run only the schedule of this seed, and print what happens in it")
)

// Programs on bad networks share a server, or a Cluster of three masters, whose clocks are off and run at different rates. Requests are late, or lost, or held
// back until somebody else has just been granted something; servers freeze, start again empty, or with what they knew some time ago, or are replaced by spares that have run for
// long; slots move, and are given away when they are half moved. Whatever happens, nobody holds beside another one, tokens grow, and when all is well again,
// everybody gets what they ask for. All of it takes place in virtual time.
func TestSchedules(t *testing.T) {
	if *oneSeed != 0 {
		w := runSchedule(t, *oneSeed, nil)
		t.Logf("schedule %d:\n%s", *oneSeed, strings.Join(w.story(), "\n"))
		w.judged(t)
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
					w.judged(t)
					mu.Lock()
					events.add(&w.counts)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d schedules: %+v", n, events)
	for i, count := range events.all() {
		if *count == 0 && n >= enough {
			t.Errorf("event %d never happened: %+v", i, events)
		}
	}
}

func runSchedule(t *testing.T, seed uint64, planted plant) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(seed, planted)
		w.run()
	})
	return w
}

// judged fails the test if a promise was broken. The engine lets waiters look at moments of its own choice, so a seed stands for schedules that are much alike.
func (w *world) judged(t *testing.T) {
	if len(w.wrong) > 0 {
		t.Errorf("schedule %d broke a promise: %s\nto see one like it: go test -run 'TestSchedules$' -seed %d -count 20 .\n%s", w.seed, w.wrong[0], w.seed, strings.Join(w.story(), "\n"))
	}
}

// counts is how often the things happened that the schedules are there to try.
type counts struct {
	grants, refused, released, lost, unknown, heldBack, restarts, spares, restored, frozen, moved, halfMoved int
}

func (c *counts) all() []*int {
	return []*int{&c.grants, &c.refused, &c.released, &c.lost, &c.unknown, &c.heldBack, &c.restarts, &c.spares, &c.restored, &c.frozen, &c.moved, &c.halfMoved}
}

func (c *counts) add(o *counts) {
	for i, n := range o.all() {
		*c.all()[i] += *n
	}
}
