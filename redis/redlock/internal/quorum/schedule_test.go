package quorum

import (
	"flag"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

var (
	// The race detector makes each schedule many times slower.
	schedules = flag.Int("schedules", map[bool]int{false: 500, true: 100}[raceEnabled], "how many seeded schedules TestSchedules runs; make schedules runs many")
	oneSeed   = flag.Uint64("seed", 0, "run only the schedule of this seed, and print what happens in it")
)

// fault is one that is planted in the world: in its places, or in the engines of its clients.
type fault struct {
	plant  plant
	engine func(*Engine)
}

// Clients on bad networks share three or five places, which crash, freeze, forget, go back to what they knew before, and are replaced by spares, and whose clocks are
// off, run at different rates and jump. Clocks of clients differ, too. Clients are stopped when they have got an answer. Whatever happens, tokens grow; and as long as no
// clock of a place is set forward, one client holds at a time. When all is well again, nothing is left. All of it takes place in virtual
// time, and the seed decides all of it.
func TestSchedules(t *testing.T) {
	if *oneSeed != 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that what happens at the same instant has an order, too
		w := runSchedule(t, *oneSeed, fault{})
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
					w := runSchedule(t, uint64(seed), fault{})
					w.judged(t)
					mu.Lock()
					events.add(&w.counts)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d schedules: %+v", n, events)
	for i, n := range events.all() {
		if *n == 0 {
			t.Errorf("event %d never happened: %+v", i, events)
		}
	}
}

// A seed stands for one schedule: run again, the same things happen at the same moments. When several are due at the same instant it is up to the
// scheduler which is the first, and it lets another go first if the machine is too busy to get on with one. Then two of several tries must go the same way.
func TestSeedReproducesItsSchedule(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector shuffles goroutines on purpose: make test runs this")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := uint64(1); seed <= 50; seed++ {
		var tries [][]string
		for {
			one := runSchedule(t, seed, fault{}).sorted()
			if slices.ContainsFunc(tries, func(other []string) bool { return slices.Equal(one, other) }) {
				break
			}
			if tries = append(tries, one); len(tries) == 10 {
				t.Fatalf("schedule %d goes other ways each time", seed)
			}
		}
	}
}

// sorted is the story without the order of what happens at the same instant.
func (w *world) sorted() []string {
	lines := w.story()
	slices.Sort(lines)
	return lines
}

func runSchedule(t *testing.T, seed uint64, planted fault) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(seed, planted)
		w.run()
	})
	return w
}

// judged fails the test if a promise was broken.
func (w *world) judged(t *testing.T) {
	if len(w.wrong) > 0 {
		t.Errorf("schedule %d broke a promise: %s\nto see it again: go test -run 'TestSchedules$' -seed %d .\n%s", w.seed, w.wrong[0], w.seed, strings.Join(w.story(), "\n"))
	}
}

// counts is how often the things happened that the schedules are there to try.
type counts struct {
	grants, held, unavailable, gaveUp, released, lost, unknown, renewed, crashes, spares, restored, jumps int
	together                                                                                              int // two held at once: where a clock was set forward
}

func (c *counts) all() []*int {
	return []*int{&c.grants, &c.held, &c.unavailable, &c.gaveUp, &c.released, &c.lost, &c.unknown, &c.renewed, &c.crashes, &c.spares, &c.restored, &c.jumps, &c.together}
}

func (c *counts) add(o *counts) {
	for i, n := range o.all() {
		*c.all()[i] += *n
	}
}
