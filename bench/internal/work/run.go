package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"

	"github.com/leasehold-go/leasehold/bench/internal/place"
	"github.com/leasehold-go/leasehold/bench/internal/stat"
)

// Runner runs workloads on one place.
type Runner struct {
	Place *place.Place
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
	About    string   `json:"about"`
	Plan     Plan     `json:"plan"`
	Rows     []Row    `json:"rows"`
	Failures []string `json:"failures,omitempty"`
}

// Has reports whether a library has shown something.
func (r Result) Has(library string) bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Library == library })
}

// Row is what one library has shown.
type Row struct {
	Library string   `json:"library"`
	Figures []Figure `json:"figures"`
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
	var entrants []*entrant
	for _, l := range w.Libraries {
		if r.Only != nil && !r.Only.MatchString(w.Name+"/"+l.Name) {
			continue
		}
		entrants = append(entrants, &entrant{env: Env{
			Place: r.Place, Library: l, Plan: plan, Mark: r.Mark + ":" + strconv.Itoa(len(entrants)) + ":", Folder: folder,
			Log: func(format string, args ...any) { r.Log(w.Name+"/"+l.Name+": "+format, args...) },
		}})
	}
	if len(entrants) == 0 {
		return Result{}, false, nil
	}
	r.Log("%s: %d rounds of %v for each of %d", w.Name, plan.Rounds, plan.Round, len(entrants))
	r.rounds(ctx, w, entrants, plan)
	result := Result{Workload: w.Name, About: w.About, Plan: plan}
	for _, e := range entrants {
		if e.bench != nil {
			e.fail(e.bench.Close())
		}
		if e.failed != nil {
			result.Failures = append(result.Failures, fmt.Sprintf("%s/%s: %v", w.Name, e.env.Library.Name, e.failed))
			continue
		}
		result.Rows = append(result.Rows, Row{e.env.Library.Name, figures(e.samples)})
	}
	return result, true, errors.Join(ctx.Err(), r.Place.Sweep(ctx, r.Mark))
}

func (r *Runner) rounds(ctx context.Context, w Workload, entrants []*entrant, plan Plan) {
	for _, e := range entrants {
		var err error
		e.bench, err = w.Open(e.env)
		e.fail(err)
		if e.failed == nil && plan.Warm > 0 {
			_, err := e.bench.Round(ctx, e.env.Library.Name+":warm", plan.Warm)
			e.fail(err)
		}
	}
	for i := range plan.Rounds {
		for _, e := range entrants {
			if e.failed != nil || ctx.Err() != nil {
				continue
			}
			sample, err := e.bench.Round(ctx, e.env.Library.Name+":"+strconv.Itoa(i), plan.Round)
			e.fail(err)
			e.samples = append(e.samples, sample)
		}
	}
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
