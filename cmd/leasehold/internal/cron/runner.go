//go:build unix

// Package cron starts jobs when their ticks come.
package cron

import (
	"context"
	"hash/fnv"
	"sync"
	"syscall"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/crontab"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/once"
)

// Child is a leasehold run that was started for a job.
type Child interface {
	// Granted is closed when the command of the job begins.
	Granted() <-chan struct{}
	// Ended is closed when the child has ended.
	Ended() <-chan struct{}
	// ExitCode returns its exit code, once it has ended: 128+N if signal N has killed it.
	ExitCode() int
	// Signal does nothing if the child has ended.
	Signal(s syscall.Signal)
}

// Runner starts a child for each tick of each job.
type Runner struct {
	Jobs  []crontab.Job
	Start func(crontab.Job) (Child, error)
	// Grace is how long commands may go on when the runner is told to end.
	Grace time.Duration
	// Hurry ends that time when it is closed.
	Hurry <-chan struct{}
	Log   func(format string, args ...any)
	// Metrics may be nil.
	Metrics *Metrics
}

// Run starts children until ctx ends, and returns when all have ended.
func (r *Runner) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, j := range r.Jobs {
		all.Go(func() { r.keep(ctx, j) })
	}
	all.Wait()
}

// A tick that is not done is tried again after these pauses, until the next one is due.
const firstPause, longestPause = time.Second, time.Minute

// keep runs one job: one child at a time.
func (r *Runner) keep(ctx context.Context, j crontab.Job) {
	late := delay(j) // ticks are due when a clock that is so late reaches them
	clock := func() time.Time { return time.Now().Add(-late) }
	var handled time.Time
	if !j.CatchUp {
		handled = once.Latest(j.Ticks, clock())
	}
	pause := firstPause
	for ctx.Err() == nil {
		next := j.Ticks.Next(clock())
		r.Metrics.noteNext(j.Name, next)
		if due := once.Latest(j.Ticks, clock()); due.After(handled) {
			if r.run(ctx, j) {
				handled, pause = due, firstPause
				continue
			}
			if retry := clock().Add(pause); next.IsZero() || retry.Before(next) {
				next = retry
			}
			pause = min(2*pause, longestPause)
		}
		if next.IsZero() {
			return // no more ticks
		}
		sleepUntil(ctx, next.Add(late))
	}
}

// delay returns how long after its ticks a job runs: a part of the jitter that depends on its name, so that jobs with
// the same schedule run at different times, and each at the same time on all machines.
func delay(j crontab.Job) time.Duration {
	if j.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(j.Name)) // it never fails
	return time.Duration(h.Sum64() % uint64(j.Jitter))
}

// sleepUntil returns at a time on the wall clock, which may be set meanwhile: it looks at the clock once a minute.
func sleepUntil(ctx context.Context, at time.Time) {
	for left := time.Until(at.Round(0)); left > 0 && ctx.Err() == nil; left = time.Until(at.Round(0)) {
		timer := time.NewTimer(min(left, time.Minute))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// run runs a child to its end. It reports false if the tick is not done, so that another attempt may help.
func (r *Runner) run(ctx context.Context, j crontab.Job) (final bool) {
	c, err := r.Start(j)
	if err != nil {
		r.Log("%s: cannot be started: %v", j.Name, err)
		r.Metrics.noteEnd(j.Name, unavailable)
		return false
	}
	began := r.await(ctx, j, c)
	ran := !began.IsZero()
	if !ran && ctx.Err() != nil {
		return false
	}
	result, after := resultOf(ran, c.ExitCode()), ""
	r.Metrics.noteEnd(j.Name, result)
	if ran {
		after = " after " + time.Since(began).Round(time.Millisecond).String()
	}
	if result != elsewhere {
		r.Log("%s: %s%s: exit code %d", j.Name, resultTexts[result], after, c.ExitCode())
	}
	return result == ok || result == elsewhere || result == wrong || result == failed && !j.RetryFailed
}

// await waits until a child has ended, which it is told to soon after ctx has ended. It returns when the command of the
// job began, or the zero Time if it did not.
func (r *Runner) await(ctx context.Context, j crontab.Job, c Child) (began time.Time) {
	granted, stop := c.Granted(), ctx.Done()
	begin := func() {
		granted, began = nil, time.Now()
		r.Log("%s: begins", j.Name)
		r.Metrics.noteBegin(j.Name)
	}
	var grace <-chan time.Time
	var hurry <-chan struct{}
	end := func() {
		grace, hurry = nil, nil
		c.Signal(syscall.SIGTERM)
	}
	for {
		select {
		case <-granted:
			begin()
		case <-stop:
			stop = nil
			if began.IsZero() { // it waits for the lock
				end()
				continue
			}
			grace, hurry = time.After(r.Grace), r.Hurry
		case <-grace:
			end()
		case <-hurry:
			end()
		case <-c.Ended():
			select {
			case <-granted: // just before
				begin()
			default:
			}
			return began
		}
	}
}

// result is what became of a child.
type result string

const (
	ok          result = "ok"
	failed      result = "failed"      // by an exit code of its own
	cutShort    result = "cut_short"   // the lock was lost, or a signal has ended it
	elsewhere   result = "elsewhere"   // the tick is done
	unavailable result = "unavailable" // the lock was not granted
	wrong       result = "wrong"       // it can only fail again
)

var resultTexts = map[result]string{
	ok: "ended", failed: "failed", cutShort: "cut short",
	elsewhere: "done", unavailable: "not run", wrong: "cannot run",
}

// resultOf reads the exit code of leasehold run.
func resultOf(ran bool, code int) result {
	switch {
	case ran && code == exit.OK:
		return ok
	case ran && (code == exit.Lost || code > 128):
		return cutShort
	case ran:
		return failed
	case code == exit.OK:
		return elsewhere
	case code == exit.Usage, code == exit.Config, code == exit.CannotRun, code == exit.NotFound:
		return wrong
	}
	return unavailable
}
