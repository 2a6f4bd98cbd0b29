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
	schedules = flag.Int("schedules", map[bool]int{false: 500, true: 100}[raceEnabled],
		"how many seeded schedules TestSchedules runs; make schedules runs many")
	oneSeed = flag.Uint64("seed", 0, "run only the schedule of this seed, and print what happens in it")
)

// fault is a fault in the nodes of a simulation, or in the engines of its clients.
type fault struct {
	nodes  nodeFaults
	engine func(*Engine)
}

// Clients on bad networks share three or five nodes. The nodes crash, freeze, forget, go back to what they
// knew before, and are replaced by spares; their clocks are off, run at different rates, and jump. The clocks
// of clients differ, too, and clients are paused after an answer. Whatever happens, tokens grow; and as long
// as no clock of a node is set forward, one client holds a name at a time. When the faults are over, nothing
// is left. All of it takes place in virtual time, and depends on the seed alone.
func TestSchedules(t *testing.T) {
	if *oneSeed != 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that events at the same instant have an order, too
		s := runSchedule(t, *oneSeed, fault{})
		t.Logf("schedule %d:\n%s", *oneSeed, strings.Join(s.transcript(), "\n"))
		s.check(t)
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
					s := runSchedule(t, uint64(seed), fault{})
					s.check(t)
					mu.Lock()
					events.add(&s.counts)
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

// A seed stands for one schedule: run again, the same things happen at the same moments. The order of events
// at the same instant is up to the scheduler, which may let another goroutine go first if the machine is
// busy. So two of several runs must be equal.
func TestSeedReproducesItsSchedule(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector shuffles goroutines on purpose: make test runs this")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := uint64(1); seed <= 50; seed++ {
		var tries [][]string
		for {
			one := runSchedule(t, seed, fault{}).sortedTranscript()
			if slices.ContainsFunc(tries, func(other []string) bool { return slices.Equal(one, other) }) {
				break
			}
			if tries = append(tries, one); len(tries) == 10 {
				t.Fatalf("schedule %d differs each time", seed)
			}
		}
	}
}

// sortedTranscript is the transcript without the order of events at the same instant.
func (s *simulation) sortedTranscript() []string {
	lines := s.transcript()
	slices.Sort(lines)
	return lines
}

func runSchedule(t *testing.T, seed uint64, planted fault) (s *simulation) {
	synctest.Test(t, func(t *testing.T) {
		s = newSimulation(seed, planted)
		s.run()
	})
	return s
}

// check fails the test if a promise was broken.
func (s *simulation) check(t *testing.T) {
	if len(s.violations) > 0 {
		t.Errorf("schedule %d broke a promise: %s\nto see it again: go test -run 'TestSchedules$' -seed %d .\n%s",
			s.seed, s.violations[0], s.seed, strings.Join(s.transcript(), "\n"))
	}
}

// counts is how often the things happened that the schedules are there to try.
type counts struct {
	grants, held, unavailable, gaveUp, released, lost, unknown, renewed, passed int
	crashes, spares, restored, jumps                                            int

	together int // two held at once, where a clock was set forward
}

func (c *counts) all() []*int {
	return []*int{
		&c.grants,
		&c.held,
		&c.unavailable,
		&c.gaveUp,
		&c.released,
		&c.lost,
		&c.unknown,
		&c.renewed,
		&c.passed,
		&c.crashes,
		&c.spares,
		&c.restored,
		&c.jumps,
		&c.together,
	}
}

func (c *counts) add(o *counts) {
	for i, n := range o.all() {
		*c.all()[i] += *n
	}
}
