package virtual_test

import (
	"math/rand/v2"
	"testing"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/virtual"
)

const seeds = 200

func play(c cases.Case, protected bool, seed uint64) tape.Recording {
	w := virtual.New(c.Setup(protected), rand.New(rand.NewPCG(seed, 1)))
	c.Play(w, protected, rand.New(rand.NewPCG(seed, 2)))
	return w.Run()
}

// each runs a subtest for each case, which looks at the recordings of all seeds.
func each(t *testing.T, protected bool, look func(t *testing.T, c cases.Case, seed uint64, r tape.Recording)) {
	for _, c := range cases.All {
		t.Run(c.Letter, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(seeds) {
				look(t, c, seed, play(c, protected, seed))
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
	each(t, false, func(t *testing.T, c cases.Case, _ uint64, r tape.Recording) {
		if hangs := c.Letter == "a"; hangs != (r.Hung > 0) || hangs == (r.Lost > 0) {
			t.Errorf("%+v", r.Verdict)
		}
		if r.Refused != 0 {
			t.Errorf("the counter refused %d writes without tokens", r.Refused)
		}
	})
}

// TestLeaseholdLosesNothing must fail if what protects is taken away: see TestPlantedFaultsAreFound.
func TestLeaseholdLosesNothing(t *testing.T) {
	t.Parallel()
	each(t, true, func(t *testing.T, c cases.Case, _ uint64, r tape.Recording) {
		clients := 0
		for _, l := range r.Lanes {
			if l.Kind == tape.Client {
				clients++
			}
		}
		done := clients
		if c.Letter == "a" {
			done-- // A dies
		}
		if !r.Good() || r.Value != done {
			t.Errorf("%d clients: %+v", clients, r.Verdict)
		}
		if fenced := c.Letter == "c" || c.Letter == "f"; fenced != (r.Refused > 0) {
			t.Errorf("the counter refused %d writes", r.Refused)
		}
	})
}

// What the tape counts as lost is what is missing in the counter.
func TestLostIsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, protected := range []bool{false, true} {
		for _, c := range cases.All {
			for seed := range uint64(seeds) {
				if r := play(c, protected, seed); r.Accepted-r.Value != r.Lost {
					t.Fatalf("case %s, seed %d: %d writes were accepted, the counter stands at %d, and %d are told to be lost", c.Letter, seed, r.Accepted, r.Value, r.Lost)
				}
			}
		}
	}
}

// In the cases whose servers come back, the lock itself keeps B out: nobody believes to hold beside A.
func TestGuardKeepsTheSecondOneOut(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"d", "e"} {
		c, _ := cases.Find(letter)
		for seed := range uint64(seeds) {
			var ends, begins []tape.Span
			for _, l := range play(c, true, seed).Lanes {
				for _, s := range l.Spans {
					switch {
					case s.During == tape.Holds && l.Name == "A":
						ends = append(ends, s)
					case s.During == tape.Holds && l.Name == "B":
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
