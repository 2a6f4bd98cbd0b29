package simulated_test

import (
	"math/rand/v2"
	"testing"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/simulated"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

const seeds = 200

func runCase(c cases.Case, protected bool, seed uint64) timeline.Timeline {
	w := simulated.New(c.Setup(protected), rand.New(rand.NewPCG(seed, 1)))
	c.Start(w, protected, rand.New(rand.NewPCG(seed, 2)))
	return w.Run()
}

// eachRun runs a subtest for each case, with the timelines of all seeds.
func eachRun(t *testing.T, protected bool, look func(t *testing.T, c cases.Case, seed uint64, r timeline.Timeline)) {
	for _, c := range cases.All {
		t.Run(c.Letter, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(seeds) {
				look(t, c, seed, runCase(c, protected, seed))
				if t.Failed() {
					t.Fatalf("see it with: leasehold demo %s --seed %d", c.Letter, seed)
				}
			}
		})
	}
}

// Each case shows the damage that it is about.
func TestWithoutLeaseholdSomethingIsLost(t *testing.T) {
	t.Parallel()
	eachRun(t, false, func(t *testing.T, c cases.Case, _ uint64, r timeline.Timeline) {
		if hangs := c.Letter == "a"; hangs != (r.Hung > 0) || hangs == (r.Lost > 0) {
			t.Errorf("%+v", r.Result)
		}
		if r.Refused != 0 {
			t.Errorf("the counter refused %d writes without tokens", r.Refused)
		}
	})
}

// TestLeaseholdLosesNothing must fail if the protection is removed: see TestPlantedFaultsAreFound.
func TestLeaseholdLosesNothing(t *testing.T) {
	t.Parallel()
	eachRun(t, true, func(t *testing.T, c cases.Case, _ uint64, r timeline.Timeline) {
		clients := 0
		for _, l := range r.Lanes {
			if l.Kind == timeline.Client {
				clients++
			}
		}
		done := clients
		if c.Letter == "a" {
			done-- // A dies
		}
		if !r.Good() || r.Value != done {
			t.Errorf("%d clients: %+v", clients, r.Result)
		}
		if fenced := c.Letter == "c" || c.Letter == "f"; fenced != (r.Refused > 0) {
			t.Errorf("the counter refused %d writes", r.Refused)
		}
	})
}

// The timeline counts as lost what is missing in the counter.
func TestLostIsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, protected := range []bool{false, true} {
		for _, c := range cases.All {
			for seed := range uint64(seeds) {
				if r := runCase(c, protected, seed); r.Accepted-r.Value != r.Lost {
					t.Fatalf("case %s, seed %d: %d writes were accepted, the counter stands at %d, and %d are "+
						"reported to "+
						"be lost", c.Letter, seed, r.Accepted, r.Value, r.Lost)
				}
			}
		}
	}
}

// In the cases whose servers come back, the lock itself keeps B out: no two clients believe that they hold it.
func TestGuardKeepsTheSecondOneOut(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"d", "e"} {
		c, _ := cases.Find(letter)
		for seed := range uint64(seeds) {
			var ends, begins []timeline.Interval
			for _, l := range runCase(c, true, seed).Lanes {
				for _, s := range l.Intervals {
					switch {
					case s.State == timeline.Holds && l.Name == "A":
						ends = append(ends, s)
					case s.State == timeline.Holds && l.Name == "B":
						begins = append(begins, s)
					}
				}
			}
			if len(ends) != 1 || len(begins) != 1 || begins[0].From < ends[0].To {
				t.Fatalf("case %s, seed %d: A holds in %v, B in %v", letter, seed, ends, begins)
			}
		}
	}
}
