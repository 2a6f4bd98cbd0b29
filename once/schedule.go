package once

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold"
)

// Schedule says when ticks are. The schedules of github.com/robfig/cron/v3 are such Schedules: begin their text with
// CRON_TZ=UTC or another zone, as otherwise each machine takes its own.
type Schedule interface {
	// Next returns the first tick after t, or the zero Time if there is none. It depends on nothing else: all processes
	// must get the same ticks.
	Next(t time.Time) time.Time
}

// Every returns the schedule with a tick at each whole multiple of d since Monday, 1 January of the year 1, 0:00 UTC: a
// tick each hour is on the hour. It panics if d is less than a millisecond.
func Every(d time.Duration) Schedule {
	if d < time.Millisecond {
		panic("once: a period must be at least 1 ms")
	}
	return every(d)
}

type every time.Duration

func (e every) Next(t time.Time) time.Time {
	d := time.Duration(e)
	return t.UTC().Truncate(d).Add(d)
}

// CatchUp makes DoDue and Loop run the ticks that were missed, each of them, the oldest first: at most the latest n of
// those that are due. By default they run the latest one alone, as for a job that has never run.
func CatchUp(n int) Option { return func(j *Job) { j.catchUp = n } }

// DoDue runs work for what is due at now: for the latest tick of the schedule that is not after now, unless it is done,
// and before it for ticks that were missed if CatchUp says so. now is the time on the clock of this machine, as from
// time.Now. If the clocks of machines differ, each tick runs when the first of them reaches it.
//
// It returns a result for each tick that was due, in order, and the errors of Do, joined. It stops at a tick that is
// not done. Without a tick that is due there is no result.
func (j *Job) DoDue(
	ctx context.Context, s Schedule, now time.Time, work func(context.Context, *Work) error,
) ([]Result, error) {
	results, _, err := j.doDue(ctx, s, now, work)
	return results, err
}

// doDue is DoDue. It also reports whether all that was due is done.
func (j *Job) doDue(
	ctx context.Context, s Schedule, now time.Time, work func(context.Context, *Work) error,
) (results []Result, done bool, err error) {
	ticks, err := j.Due(ctx, s, now)
	if err != nil {
		return nil, false, err
	}
	var errs []error
	for _, t := range ticks {
		r, err := j.Do(ctx, t, work)
		errs = append(errs, err)
		if r.Ran || r.Done {
			results = append(results, r)
		}
		if !r.Done {
			return results, false, errors.Join(errs...)
		}
	}
	return results, true, errors.Join(errs...)
}

// Due returns the ticks that DoDue runs at now, in order. The latest one is among them also if it is done, and then is
// the only one. It returns the errors of [leasehold.Mutex.Data].
func (j *Job) Due(ctx context.Context, s Schedule, now time.Time) ([]Tick, error) {
	latest := Latest(s, now)
	if latest.IsZero() {
		return nil, nil
	}
	if j.catchUp > 1 {
		state, err := j.State(ctx)
		if err != nil {
			return nil, err
		}
		if done := state.Done.Time(); !done.IsZero() && done.Before(latest) {
			return latestTicks(s, done, latest, j.catchUp), nil
		}
	}
	return []Tick{At(latest)}, nil
}

// maxPeriod is how far back Latest looks for a tick: rare ones, such as each 29 February, are found, too.
const maxPeriod = 9 * 366 * 24 * time.Hour

// Latest returns the latest tick of a schedule that is not after now, or the zero Time if there was none in the last
// nine years. A schedule tells the next tick only, so Latest steps back until there is one, and then forward.
func Latest(s Schedule, now time.Time) (latest time.Time) {
	for back := time.Second; latest.IsZero() && back < 4*maxPeriod; back *= 4 {
		for t := s.Next(now.Add(-back)); !t.IsZero() && !t.After(now); t = s.Next(t) {
			latest = t
		}
	}
	return latest
}

// latestTicks returns the latest n ticks after done, up to latest, which is one.
func latestTicks(s Schedule, done, latest time.Time, n int) []Tick {
	from := done
	for back := time.Minute; latest.Sub(from) > back; back *= 2 { // not all ticks since done, which may be millions
		start := latest.Add(-back)
		if all := ticksAfter(s, start, latest, n); len(all) == n {
			return all
		}
	}
	return ticksAfter(s, from, latest, n)
}

// ticksAfter returns the latest n ticks after t, up to latest.
func ticksAfter(s Schedule, t, latest time.Time, n int) (all []Tick) {
	for t = s.Next(t); !t.IsZero() && !t.After(latest); t = s.Next(t) {
		all = append(all, At(t))
		if len(all) > 2*n {
			all = append(all[:0], all[len(all)-n:]...)
		}
	}
	return all[max(0, len(all)-n):]
}

// Loop runs work for each tick of the schedule, when it comes, until ctx ends or the client is closed. It begins with
// the tick after its call, or with those that CatchUp names. report is called with the outcome of each tick, in the
// goroutine of Loop; it may be nil. A tick that is not done after that is tried again, with pauses of one second
// to one minute, until the next tick is due.
//
// It returns an error of ctx, or one that does not pass: ErrClosed, ErrInvalid or ErrUnsupported. It returns nil if the
// schedule has no more ticks.
func (j *Job) Loop(
	ctx context.Context, s Schedule, work func(context.Context, *Work) error, report func([]Result, error),
) error {
	if report == nil {
		report = func([]Result, error) {}
	}
	begin := j.now()
	if j.catchUp > 0 {
		begin = time.Time{}
	}
	return j.loop(ctx, s, begin, work, report)
}

func (j *Job) loop(
	ctx context.Context, s Schedule, begin time.Time, work func(context.Context, *Work) error,
	report func([]Result, error),
) error {
	const firstPause, longestPause = time.Second, time.Minute
	pause := firstPause
	for {
		now := j.now()
		next := s.Next(now)
		if latest := Latest(s, now); latest.After(begin) {
			results, done, err := j.doDue(ctx, s, now, work)
			if len(results) > 0 || ctx.Err() == nil {
				report(results, err)
			}
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case done:
				begin, pause = latest, firstPause
			case isFinal(err):
				return err
			default: // the tick again, unless the next one is sooner
				retry := j.now().Add(pause)
				if next.IsZero() || retry.Before(next) {
					next = retry
				}
				pause = min(2*pause, longestPause)
			}
		}
		if next.IsZero() {
			return nil // no more ticks
		}
		if err := j.sleepUntil(ctx, next); err != nil {
			return err
		}
	}
}

// sleepUntil returns at a time on the wall clock, which may be set meanwhile: it looks at the clock once a minute.
func (j *Job) sleepUntil(ctx context.Context, at time.Time) error {
	for {
		left := at.Sub(j.now())
		if left <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(min(left, time.Minute))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// isFinal reports whether a later attempt would fail in the same way.
func isFinal(err error) bool {
	for _, final := range []error{leasehold.ErrClosed, leasehold.ErrInvalid, leasehold.ErrUnsupported} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}
