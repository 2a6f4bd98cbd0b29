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
	schedules = flag.Int("schedules", map[bool]int{false: 1000, true: 100}[raceEnabled],
		"how many seeded schedules TestSchedules runs; make schedules runs many")
	oneSeed = flag.Uint64("seed", 0, "run only the schedule of this seed, and print what happens in it")
)

// Clients on a bad network share an engine whose clock has another rate. Requests and replies are delayed and lost,
// before and after they take effect; some requests are delayed for any time, until somebody else was granted their
// name; the engine hangs; callers give up, pause past their deadlines, and forget to check. Whatever happens, no
// promise is broken: see simulation. Everything happens in virtual time, and the seed decides everything.
func TestSchedules(t *testing.T) {
	if *oneSeed != 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that events of the same instant have an order as well
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

// A seed reproduces its schedule: the same events happen at the same moments. The scheduler decides the order of events
// that are due at the same instant, and may choose another one on a busy machine. So two of several runs must be the
// same.
func TestSeedReproducesItsSchedule(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector shuffles goroutines on purpose: make test runs this")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := uint64(1); seed <= 50; seed++ {
		var tries [][]string
		for {
			one := sorted(runSchedule(t, seed).log)
			if slices.ContainsFunc(tries, func(other []string) bool { return slices.Equal(one, other) }) {
				break
			}
			if tries = append(tries, one); len(tries) == 10 {
				t.Fatalf("schedule %d goes other ways each time, first at:\n%s", seed, firstDifference(tries[0], one))
			}
		}
	}
}

// sorted returns a log without the order of events of the same instant.
func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] + "\n" + b[i]
		}
	}
	return fmt.Sprintf("one has %d events, and one %d", len(a), len(b))
}

func runSchedule(t *testing.T, seed uint64) (w *simulation) {
	synctest.Test(t, func(t *testing.T) {
		w = newSimulation(t, seed)
		w.run()
		if t.Failed() {
			t.Fatalf("schedule %d broke a promise; to see it again: go test -run 'TestSchedules$' -seed %d .\n%s", seed,
				seed, strings.Join(w.log, "\n"))
		}
	})
	return w
}

// counts is how often the events happened that the schedules are meant to test.
type counts struct {
	grants, sets, handOvers, held, unavailable, gaveUp, lost, unknown, released, outlived, delayed, reused,
	recalled, exchanged, stored, notStored int
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
	c.delayed += o.delayed
	c.reused += o.reused
	c.recalled += o.recalled
	c.exchanged += o.exchanged
	c.stored += o.stored
	c.notStored += o.notStored
}

func (c *counts) String() string { return fmt.Sprintf("%+v", *c) }

// wantAll fails if some event never happened: then the schedules would prove nothing about it.
func (c *counts) wantAll(t *testing.T) {
	for _, n := range []int{c.grants, c.sets, c.handOvers, c.held, c.unavailable, c.gaveUp, c.lost, c.unknown,
		c.released, c.outlived, c.delayed, c.reused, c.recalled,
		c.exchanged, c.stored, c.notStored} {
		if n == 0 {
			t.Errorf("something never happened: %s", c)
		}
	}
}
