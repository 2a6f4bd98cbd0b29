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

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
)

// Runner runs workloads.
type Runner struct {
	Pool *servers.Pool
	// Mark is part of the names of all locks of this run.
	Mark  string
	Short bool
	// Patience is Config.Patience of all sessions. Zero is used for measurements.
	Patience time.Duration
	// Only selects by "workload/library". Nil selects everything.
	Only *regexp.Regexp
	// Skip selects what does not run. Nil selects nothing.
	Skip *regexp.Regexp
	// Log reports progress.
	Log func(format string, args ...any)
}

// Result is the result of one workload.
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

// Has reports whether there are figures of a library.
func (r Result) Has(library string) bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Library == library })
}

// Row holds the figures of one library.
type Row struct {
	Library string       `json:"library"`
	On      servers.Kind `json:"on"`
	Figures []Figure     `json:"figures"`
}

// Figure is one metric over all rounds.
type Figure struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	stat.Summary
}

// participant is a library that takes part in a workload.
type participant struct {
	env     Env
	bench   *Bench
	rounds  int // how many rounds it takes part in
	samples []Sample
	failed  error
}

// Run runs one workload: all libraries in turn, round by round, so that other load on the machine
// affects all of them alike. A library that fails does not take part in later rounds. Run returns
// false if nothing of the workload is selected. It returns an error if the servers cannot be used;
// failures of libraries are part of the result.
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
	var participants []*participant
	judged := judged(w.Name, Targets)
	for _, l := range w.Libraries {
		name := w.Name + "/" + l.Name
		if r.Only != nil && !r.Only.MatchString(name) || r.Skip != nil && r.Skip.MatchString(name) {
			continue
		}
		at, err := r.Pool.Get(ctx, l.On)
		if servers.Missing(err) && l.On != servers.OneRedis {
			result.LeftOut = append(result.LeftOut, fmt.Sprintf("%s: %v", l.Name, err))
			continue
		} else if err != nil {
			return Result{}, false, err
		}
		participants = append(participants, &participant{rounds: plan.of(slices.Contains(judged, l.Name)), env: Env{
			Backend: at, Library: l, Plan: plan, Patience: r.Patience, Mark: r.Mark + ":" +
				strconv.Itoa(len(participants)) + ":", Folder: folder,
			Log: func(format string, args ...any) { r.Log(w.Name+"/"+l.Name+": "+format, args...) },
		}})
	}
	for _, left := range result.LeftOut {
		r.Log("%s: left out: %s", w.Name, left)
	}
	started := len(result.LeftOut)
	if len(participants) == 0 {
		return result, len(result.LeftOut) > 0, nil
	}
	r.Log("%s: %d rounds of %v for each of %d", w.Name, plan.Rounds, plan.Round, len(participants))
	r.rounds(ctx, w, participants, plan)
	for _, e := range participants {
		if e.bench != nil {
			e.fail(e.bench.Close())
		}
		result.take(e, w.Name)
	}
	for _, left := range result.LeftOut[started:] {
		r.Log("%s: left out: %s", w.Name, left)
	}
	return result, true, errors.Join(ctx.Err(), r.Pool.RemoveKeys(ctx, r.Mark))
}

// take adds the outcome of a library.
func (r *Result) take(e *participant, workload string) {
	l := e.env.Library
	switch {
	case lib.Missing(e.failed), errors.Is(e.failed, errHung) && !l.Ours:
		r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: %v", l.Name, e.failed))
	case e.failed != nil:
		r.Failures = append(r.Failures, fmt.Sprintf("%s/%s: %v", workload, l.Name, e.failed))
	default:
		r.Rows = append(r.Rows, Row{l.Name, l.On, figures(e.samples)})
	}
}

func (r *Runner) rounds(ctx context.Context, w Workload, participants []*participant, plan Plan) {
	for _, e := range participants {
		var err error
		e.bench, err = w.Open(e.env)
		e.fail(err)
		if e.failed == nil && plan.Warm > 0 {
			_, err := r.round(ctx, e, ":warm", plan.Warm)
			e.fail(err)
		}
	}
	for i := range plan.Rounds {
		for _, e := range participants {
			if e.failed != nil || ctx.Err() != nil || i >= e.rounds {
				continue
			}
			sample, err := r.round(ctx, e, ":"+strconv.Itoa(i), plan.Round)
			e.fail(err)
			e.samples = append(e.samples, sample)
		}
	}
}

// errHung means that a round did not finish.
var errHung = errors.New("it hung")

// round runs one round, and abandons it if it takes much too long.
func (r *Runner) round(ctx context.Context, e *participant, label string, d time.Duration) (Sample, error) {
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
func (e *participant) fail(err error) {
	if e.failed == nil && err != nil {
		e.failed = err
		if !lib.Missing(err) {
			e.env.Log("failed: %v", err)
		}
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
