package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/place"
	"github.com/leasehold-go/leasehold/bench/internal/stat"
)

// Runner runs workloads.
type Runner struct {
	Places *place.Places
	// Mark is in the names of all locks of this run.
	Mark  string
	Short bool
	// Only selects by "workload/library". Nil selects everything.
	Only *regexp.Regexp
	// Log tells how it goes on.
	Log func(format string, args ...any)
}

// Result is what one workload has shown.
type Result struct {
	Workload string   `json:"workload"`
	Section  string   `json:"section"`
	About    string   `json:"about"`
	Plan     Plan     `json:"plan"`
	Main     string   `json:"main"`
	Base     string   `json:"base"`
	Rows     []Row    `json:"rows"`
	Failures []string `json:"failures,omitempty"`
	LeftOut  []string `json:"left_out,omitempty"`
}

// Has reports whether a library has shown something.
func (r Result) Has(library string) bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Library == library })
}

// Row is what one library has shown.
type Row struct {
	Library string     `json:"library"`
	On      place.Kind `json:"on"`
	Figures []Figure   `json:"figures"`
}

// Figure is one metric over all rounds.
type Figure struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	stat.Summary
}

// entrant is a library that takes part in a workload.
type entrant struct {
	env     Env
	bench   *Bench
	rounds  int // how many it takes part in
	samples []Sample
	failed  error
}

// Run runs one workload: all libraries in turn, round by round, so that what the machine does otherwise meets all of them
// alike. A library that fails is left out from then on. It returns false if nothing of the workload is selected. The
// error says that the place cannot be used; what libraries do wrong is among the failures.
func (r *Runner) Run(ctx context.Context, w Workload) (_ Result, ran bool, err error) {
	folder, err := os.MkdirTemp("", "leasehold-bench-")
	if err != nil {
		return Result{}, false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	plan := w.Full
	if r.Short {
		plan = w.Short
	}
	result := Result{Workload: w.Name, Section: w.Section, About: w.About, Plan: plan, Main: w.Main, Base: w.Base}
	var entrants []*entrant
	judged := judged(w.Name, Targets)
	for _, l := range w.Libraries {
		if r.Only != nil && !r.Only.MatchString(w.Name+"/"+l.Name) {
			continue
		}
		at, err := r.Places.Of(ctx, l.On)
		if place.Missing(err) && l.On != place.OneRedis {
			result.LeftOut = append(result.LeftOut, fmt.Sprintf("%s: %v", l.Name, err))
			continue
		} else if err != nil {
			return Result{}, false, err
		}
		entrants = append(entrants, &entrant{rounds: plan.of(slices.Contains(judged, l.Name)), env: Env{
			Place: at, Library: l, Plan: plan, Mark: r.Mark + ":" + strconv.Itoa(len(entrants)) + ":", Folder: folder,
			Log: func(format string, args ...any) { r.Log(w.Name+"/"+l.Name+": "+format, args...) },
		}})
	}
	for _, left := range result.LeftOut {
		r.Log("%s: left out: %s", w.Name, left)
	}
	if len(entrants) == 0 {
		return result, len(result.LeftOut) > 0, nil
	}
	r.Log("%s: %d rounds of %v for each of %d", w.Name, plan.Rounds, plan.Round, len(entrants))
	r.rounds(ctx, w, entrants, plan)
	for _, e := range entrants {
		if e.bench != nil {
			e.fail(e.bench.Close())
		}
		result.take(e, w.Name)
	}
	return result, true, errors.Join(ctx.Err(), r.Places.Sweep(ctx, r.Mark))
}

// take takes in what has come of a library.
func (r *Result) take(e *entrant, workload string) {
	l := e.env.Library
	switch {
	case errors.Is(e.failed, errHung) && !l.Ours:
		r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: %v", l.Name, e.failed))
	case e.failed != nil:
		r.Failures = append(r.Failures, fmt.Sprintf("%s/%s: %v", workload, l.Name, e.failed))
	default:
		r.Rows = append(r.Rows, Row{l.Name, l.On, figures(e.samples)})
	}
}

func (r *Runner) rounds(ctx context.Context, w Workload, entrants []*entrant, plan Plan) {
	for _, e := range entrants {
		var err error
		e.bench, err = w.Open(e.env)
		e.fail(err)
		if e.failed == nil && plan.Warm > 0 {
			_, err := r.round(ctx, e, ":warm", plan.Warm)
			e.fail(err)
		}
	}
	for i := range plan.Rounds {
		for _, e := range entrants {
			if e.failed != nil || ctx.Err() != nil || i >= e.rounds {
				continue
			}
			sample, err := r.round(ctx, e, ":"+strconv.Itoa(i), plan.Round)
			e.fail(err)
			e.samples = append(e.samples, sample)
		}
	}
}

// errHung means that a round did not come to its end.
var errHung = errors.New("it hung")

// round runs one round, and ends it if it takes much longer than it should.
func (r *Runner) round(ctx context.Context, e *entrant, label string, d time.Duration) (Sample, error) {
	limit := 2*d + time.Minute
	if r.Short {
		limit = 2*d + 20*time.Second
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, errHung)
	defer cancel()
	sample, err := e.bench.Round(limited, e.env.Library.Name+label, d)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = fmt.Errorf("%w: a round of %v did not end in %v: %w", errHung, d, limit, err)
	}
	return sample, err
}

// fail keeps the first failure of a library.
func (e *entrant) fail(err error) {
	if e.failed == nil && err != nil {
		e.failed = err
		e.env.Log("failed: %v", err)
	}
}

// figures summarizes samples, metric by metric.
func figures(samples []Sample) []Figure {
	if len(samples) == 0 {
		return nil
	}
	var all []Figure
	for i, m := range samples[0] {
		var values []float64
		for _, s := range samples {
			values = append(values, s[i].Value)
		}
		all = append(all, Figure{m.Name, m.Unit, stat.Summarize(values)})
	}
	return all
}
