package leasehold

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

var (
	// The race detector makes each schedule many times slower.
	schedules = flag.Int("schedules", map[bool]int{false: 1000, true: 100}[raceEnabled], "how many seeded schedules TestSchedules runs; make schedules runs many")
	oneSeed   = flag.Uint64("seed", 0, "run only the schedule of this seed, and print what happens in it")
)

// Clients on a bad network share an engine whose clock runs at another rate. Requests and replies are delayed and
// lost, before and after they take effect; some requests are held back, for any time, until somebody else was granted what they are about; the engine hangs; callers give up, pause past their
// deadlines, and forget to look. Whatever happens, no promise is broken: see world. All of it takes
// place in virtual time, and the seed decides all of it.
func TestSchedules(t *testing.T) {
	if *oneSeed != 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that what happens at the same instant has an order, too
		w := runSchedule(t, *oneSeed)
		t.Logf("schedule %d:\n%s", *oneSeed, strings.Join(w.log, "\n"))
		return
	}
	n := *schedules
	shards := runtime.GOMAXPROCS(0)
	var events counts
	t.Run("shards", func(all *testing.T) {
		for shard := range shards {
			all.Run("", func(t *testing.T) {
				t.Parallel()
				for seed := 1 + shard; seed <= n && !all.Failed(); seed += shards {
					w := runSchedule(t, uint64(seed))
					events.add(&w.counts)
				}
			})
		}
	})
	t.Logf("%d schedules: %s", n, &events)
	events.wantAll(t)
}

// A seed stands for one schedule: run twice, the same things happen at the same moments.
func TestSeedReproducesItsSchedule(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector shuffles goroutines on purpose: make test runs this")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := uint64(1); seed <= 50; seed++ {
		first, second := runSchedule(t, seed).log, runSchedule(t, seed).log
		slices.Sort(first) // what happens at the same instant has no order
		slices.Sort(second)
		if !slices.Equal(first, second) {
			for i := range min(len(first), len(second)) {
				if first[i] != second[i] {
					t.Fatalf("schedule %d went two ways:\n%s\n%s", seed, first[i], second[i])
				}
			}
			t.Fatalf("schedule %d went two ways: %d events and %d", seed, len(first), len(second))
		}
	}
}

func runSchedule(t *testing.T, seed uint64) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, seed)
		w.run()
		if t.Failed() {
			t.Fatalf("schedule %d broke a promise; to see it again: go test -run 'TestSchedules$' -seed %d .\n%s", seed, seed, strings.Join(w.log, "\n"))
		}
	})
	return w
}

// counts is how often the things happened that the schedules are there to try.
type counts struct {
	grants, sets, handOvers, held, unavailable, gaveUp, lost, unknown, released, outlived, heldBack int
}

var totalMu sync.Mutex

func (c *counts) add(o *counts) {
	totalMu.Lock()
	defer totalMu.Unlock()
	c.grants += o.grants
	c.sets += o.sets
	c.handOvers += o.handOvers
	c.held += o.held
	c.unavailable += o.unavailable
	c.gaveUp += o.gaveUp
	c.lost += o.lost
	c.unknown += o.unknown
	c.released += o.released
	c.outlived += o.outlived
	c.heldBack += o.heldBack
}

func (c *counts) String() string { return fmt.Sprintf("%+v", *c) }

// wantAll fails if something did not happen at all: the schedules would prove nothing about it.
func (c *counts) wantAll(t *testing.T) {
	for _, n := range []int{c.grants, c.sets, c.handOvers, c.held, c.unavailable, c.gaveUp, c.lost, c.unknown, c.released, c.outlived, c.heldBack} {
		if n == 0 {
			t.Errorf("something never happened: %s", c)
		}
	}
}
