package work

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/lib"
)

// scripted is a workload whose rounds are only written down.
func scripted(rounds *[]string, fail string) Workload {
	return Workload{
		Name:      "scripted",
		Libraries: []lib.Library{{Name: "a"}, {Name: "b"}},
		Full:      Plan{Rounds: 2, Warm: time.Millisecond, Round: time.Second},
		Short:     Plan{Rounds: 1, Round: time.Second},
		Open: func(e Env) (*Bench, error) {
			n := 0.0
			return &Bench{
				Close: func() error { return nil },
				Round: func(_ context.Context, label string, d time.Duration) (Sample, error) {
					*rounds = append(*rounds, label)
					if label == fail {
						return nil, errors.New("out of order")
					}
					n++
					return Sample{{"round", "", n}, {"seconds", "s", d.Seconds()}}, nil
				},
			}, nil
		},
	}
}

func TestLibrariesTakeTurns(t *testing.T) {
	t.Parallel()
	var rounds []string
	result := mustRun(t, runner(t), scripted(&rounds, ""))
	if want := []string{"a:warm", "b:warm", "a:0", "b:0", "a:1", "b:1"}; !slices.Equal(rounds, want) {
		t.Errorf("rounds: %v, want %v", rounds, want)
	}
	// The first round warmed up: the second and third count.
	if f := result.Rows[0].Figures[0]; f.Metric != "round" || f.Low != 2 || f.High != 3 || f.Median != 2.5 {
		t.Errorf("figure: %+v", f)
	}
}

func TestShortRunIsShort(t *testing.T) {
	t.Parallel()
	var rounds []string
	r := runner(t)
	r.Short = true
	mustRun(t, r, scripted(&rounds, ""))
	if want := []string{"a:0", "b:0"}; !slices.Equal(rounds, want) {
		t.Errorf("rounds: %v, want %v", rounds, want)
	}
}

func TestLibraryThatFailsIsLeftOut(t *testing.T) {
	t.Parallel()
	var rounds []string
	result := mustRun(t, runner(t), scripted(&rounds, "a:0"))
	if want := []string{"a:warm", "b:warm", "a:0", "b:0", "b:1"}; !slices.Equal(rounds, want) {
		t.Errorf("rounds: %v, want %v", rounds, want)
	}
	if len(result.Failures) != 1 || !strings.Contains(result.Failures[0], "scripted/a: out of order") || result.Has("a") || !result.Has("b") {
		t.Errorf("failures: %q, rows: %v", result.Failures, result.Rows)
	}
}

func TestOnlyWhatIsSelectedRuns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]int{"scripted": 6, "scripted/b": 3, "other": 0} {
		var rounds []string
		r := runner(t)
		r.Only = regexp.MustCompile(pattern)
		_, ran, err := r.Run(t.Context(), scripted(&rounds, ""))
		if err != nil {
			t.Fatal(err)
		}
		if len(rounds) != want || ran != (want > 0) {
			t.Errorf("-run %s: %d rounds, want %d; ran: %v", pattern, len(rounds), want, ran)
		}
	}
}
