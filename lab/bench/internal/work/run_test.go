package work

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// scripted is a workload that only records its rounds.
func scripted(rounds *[]string, fail string) Workload {
	return Workload{
		Name:      "scripted",
		Libraries: []lib.Library{{Name: "a", On: servers.OneRedis}, {Name: "b", On: servers.OneRedis}},
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
	// The first round was the warm-up: the second and third count.
	if f := result.Rows[0].Figures[0]; f.Metric != "round" || f.Low != 2 || f.High != 3 || f.Median != 2.5 {
		t.Errorf("figure: %+v", f)
	}
}

func TestLibraryWithoutItsProgramIsLeftOut(t *testing.T) {
	t.Parallel()
	var rounds []string
	w := scripted(&rounds, "")
	open := w.Open
	w.Open = func(e Env) (*Bench, error) {
		if e.Library.Name == "a" {
			return nil, fmt.Errorf("%w: no Java", javaside.ErrMissing)
		}
		return open(e)
	}
	result := mustRun(t, runner(t), w)
	if result.Has("a") || !result.Has("b") || len(result.Failures) != 0 || len(result.LeftOut) != 1 ||
		!strings.Contains(result.LeftOut[0], "no Java") {
		t.Errorf("rows %v, failures %q, left out %q", result.Rows, result.Failures, result.LeftOut)
	}
}

func TestLibrariesThatNoTargetIsAboutRunTheFirstRoundsAlone(t *testing.T) {
	t.Parallel()
	var rounds []string
	w := scripted(&rounds, "")
	w.Name = "five-crowd" // its targets are about leasehold five alone
	w.Libraries[0].Name = "leasehold five"
	w.Full = Plan{Rounds: 3, Others: 1}
	result := mustRun(t, runner(t), w)
	if want := []string{"leasehold five:0", "b:0", "leasehold five:1", "leasehold five:2"}; !slices.Equal(rounds,
		want) {
		t.Errorf("rounds: %v, want %v", rounds, want)
	}
	if n := len(result.Rows[1].Figures[0].Rounds); n != 1 {
		t.Errorf("%d rounds of the other, want 1", n)
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
	if len(result.Failures) != 1 || !strings.Contains(result.Failures[0], "scripted/a: out of order") ||
		result.Has("a") || !result.Has("b") {
		t.Errorf("failures: %q, rows: %v", result.Failures, result.Rows)
	}
}

func TestOnlyWhatIsSelectedRuns(t *testing.T) {
	t.Parallel()
	for flags, want := range map[[2]string]int{
		{"scripted", "other"}: 6, {"scripted/b", "other"}: 3, {"other", "other"}: 0,
		{"scripted", "/b"}: 3, {"", "scr"}: 0,
	} {
		var rounds []string
		r := runner(t)
		r.Only, r.Skip = regexp.MustCompile(flags[0]), regexp.MustCompile(flags[1])
		_, ran, err := r.Run(t.Context(), scripted(&rounds, ""))
		if err != nil {
			t.Fatal(err)
		}
		if len(rounds) != want || ran != (want > 0) {
			t.Errorf("-run %s -skip %s: %d rounds, want %d; ran: %v", flags[0], flags[1], len(rounds), want, ran)
		}
	}
}

func TestLibraryWhoseServerIsNotInstalledIsLeftOut(t *testing.T) {
	r := runner(t) // on a server that runs already
	t.Setenv("PATH", t.TempDir())
	var rounds []string
	w := scripted(&rounds, "")
	w.Libraries = append(w.Libraries, lib.Library{Name: "c", On: servers.OneEtcd})
	result := mustRun(t, r, w)
	if !result.Has("a") || result.Has("c") || len(result.Failures) != 0 {
		t.Errorf("rows: %v, failures: %q", result.Rows, result.Failures)
	}
	if len(result.LeftOut) != 1 || !strings.Contains(result.LeftOut[0], "c: etcdserver: etcd is missing") {
		t.Errorf("left out: %q", result.LeftOut)
	}
}

func TestRowsSayWhatKindOfServerTheyAreFrom(t *testing.T) {
	t.Parallel()
	var rounds []string
	result := mustRun(t, runner(t), scripted(&rounds, ""))
	if result.Rows[0].On != servers.OneRedis {
		t.Errorf("row: %+v", result.Rows[0])
	}
}

func TestLibraryThatHangsIsLeftOut(t *testing.T) {
	t.Parallel()
	for ours, c := range map[bool]struct{ failures, leftOut int }{true: {1, 0}, false: {0, 1}} {
		synctest.Test(t, func(t *testing.T) {
			r := &Runner{Pool: servers.New("127.0.0.1:1"), Log: t.Logf}
			e := &participant{env: Env{Library: lib.Library{Name: "a", Ours: ours}, Log: t.Logf}, bench: &Bench{
				Close: func() error { return nil },
				Round: func(ctx context.Context, _ string, _ time.Duration) (Sample, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				},
			}}
			_, err := r.round(t.Context(), e, "", time.Second)
			e.fail(err)
			var result Result
			result.take(e, "w")
			if len(result.Failures) != c.failures || len(result.LeftOut) != c.leftOut {
				t.Errorf("ours: %v: failures %q, left out %q", ours, result.Failures, result.LeftOut)
			}
		})
	}
}
