//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/schedule"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/supervise"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/once"
)

// tickFlags are the flags of a run that runs once per tick.
type tickFlags struct {
	every       period
	schedule    string
	zone        string
	key         string
	retryFailed bool
	catchUp     int
	skipOverlap bool
}

func (f *tickFlags) register(flags *pflag.FlagSet) {
	flags.Var(&f.every, "every", "run once in each period of this length, as 1h; all must say the same")
	flags.StringVar(&f.schedule, "schedule", "", "run once for each tick of `CRON`, as '0 3 * * *' or @hourly")
	flags.StringVar(&f.zone, "zone", "UTC", "the time `ZONE` of --schedule, as Europe/Berlin")
	flags.StringVar(&f.key, "once", "", "run once for `KEY`, and for no key that sorts before it")
	flags.BoolVar(&f.retryFailed, "retry-failed", false,
		"a run of CMD that fails does not count: the next run repeats it")
	flags.IntVar(&f.catchUp, "catch-up", 1,
		"also run for the latest ticks that were missed, the oldest first: at most `N` runs in all")
	flags.BoolVar(&f.skipOverlap, "skip-overlapped", false,
		"do not run for a tick that was due while CMD was at work for an earlier one")
}

// givenTicks returns the flags that ask for a tick.
func (f *runFlags) givenTicks() (flags []string) {
	for _, name := range []string{"every", "schedule", "once"} {
		if f.given(name) {
			flags = append(flags, "--"+name)
		}
	}
	return flags
}

// checkTick refuses flags that do not go together with a tick, or without one.
func (f *runFlags) checkTick() error {
	ticks := f.givenTicks()
	switch {
	case len(ticks) > 1:
		return exit.Errorf(exit.Usage, "%s contradict each other: say one of them", strings.Join(ticks, " and "))
	case f.given("zone") && !f.given("schedule"):
		return exit.Errorf(exit.Usage, "--zone is of use with --schedule alone: leave it out")
	case f.retryFailed && len(ticks) == 0:
		return exit.Errorf(exit.Usage,
			"--retry-failed is of use with --every, --schedule or --once alone: leave it out")
	case (f.given("catch-up") || f.skipOverlap) && (len(ticks) == 0 || f.given("once")):
		return exit.Errorf(exit.Usage,
			"--catch-up and --skip-overlapped are of use with --every and --schedule alone: leave them out")
	case f.catchUp < 1:
		return exit.Errorf(exit.Usage, "--catch-up %d is not allowed: it must be at least 1, the run that is due now",
			f.catchUp)
	case len(ticks) > 0 && (f.shared || f.given("slots")):
		return exit.Errorf(exit.Usage, "%s needs the lock for itself: leave out --shared and --slots", ticks[0])
	}
	return nil
}

// ticks returns the schedule of the ticks, or nil if there is none.
func (f *runFlags) ticks() (once.Schedule, error) {
	switch {
	case f.given("schedule"):
		return parseSchedule(f.schedule, f.zone)
	case !f.given("every"):
		return nil, nil
	case time.Duration(f.every) < time.Millisecond:
		return nil, exit.Errorf(exit.Usage, "--every %s is not allowed: it must be at least 1ms",
			time.Duration(f.every))
	}
	return once.Every(time.Duration(f.every)), nil
}

// setTick sets the tick that is due at now, if the run is for one.
func (j *job) setTick(now time.Time) (err error) {
	if j.given("once") {
		j.tick = once.Key(j.key)
		return checkTickKey(j.key)
	}
	if j.ticks, err = j.runFlags.ticks(); err != nil || j.ticks == nil {
		return err
	}
	latest := once.Latest(j.ticks, now)
	if latest.IsZero() {
		return exit.Errorf(exit.Usage, "--schedule %q has had no tick in the last nine years: check it", j.schedule)
	}
	j.tick, j.asOf = once.At(latest), now
	return nil
}

func checkTickKey(key string) error {
	if _, err := (once.State{}).IsDone(once.Key(key)); err != nil {
		return exit.Errorf(exit.Usage, "--once %q is not allowed: it must be 1 to 1024 bytes of UTF-8 without NUL", key)
	}
	return nil
}

// parseSchedule reads a schedule whose times are those of a zone.
func parseSchedule(text, zone string) (once.Schedule, error) {
	place, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return nil, exit.Errorf(exit.Usage,
			"--zone %q is not known: give UTC or a name as Europe/Berlin, which needs the zones of this machine "+
				"(package tzdata)", zone)
	}
	s, err := schedule.Parse(text, place)
	if err != nil {
		return nil, exit.Errorf(exit.Usage,
			"--schedule %q is not allowed: %w; there are also --every and --zone", text, err)
	}
	return s, nil
}

// onceJob returns the job of a run that is for a tick.
func (j job) onceJob(c *leasehold.Client) *once.Job {
	var opts []once.Option
	if j.retryFailed {
		opts = append(opts, once.RetryFailed())
	}
	if j.skipOverlap {
		opts = append(opts, once.SkipOverlapped())
	}
	if j.catchUp > 1 {
		opts = append(opts, once.CatchUp(j.catchUp))
	}
	return once.New(c, j.name, opts...)
}

// isDone reports whether the tick of a run is done, and says so if it is.
func (a *app) isDone(ctx context.Context, s *session, j job) (bool, error) {
	state, err := j.onceJob(s.client).State(ctx)
	if err != nil {
		return false, withExitCode(err)
	}
	done, err := state.IsDone(j.tick)
	if done && err == nil {
		a.detailDone(j, state.ResultOf(j.tick))
	}
	return done, withExitCode(err)
}

func (a *app) detailDone(j job, r once.Result) {
	if r.Skipped {
		a.detail(j, "%q was at work for %s at %s: that is skipped", j.name, r.Run.Tick, j.tick)
		return
	}
	what := "done"
	if r.Run.Error != "" {
		what = "failed (" + r.Run.Error + ")"
	}
	if r.Run.Ended.IsZero() {
		a.detail(j, "%q is done for %s", j.name, r.Run.Tick)
		return
	}
	a.detail(j, "%q was %s for %s at %s, by %s: nothing is to do for %s", j.name, what, r.Run.Tick,
		formatMoment(r.Run.Ended), r.Run.By, j.tick)
}

// checkKeepsData refuses an engine that cannot remember which ticks are done.
func checkKeepsData(e driver.Engine, can driver.Abilities) error {
	if _, ok := e.(driver.DataKeeper); !ok {
		return exit.Errorf(exit.Usage,
			"runs once per tick need data of locks, which is not supported by this engine, %s: memory, sqlite, redis, "+
				"postgres, etcd and zookeeper have it", can.Name)
	}
	return nil
}

// runDue runs the program under the lease for each tick that is due, the oldest first. It returns the outcome of the
// last one that has failed, or else of the last one.
func (a *app) runDue(
	j job, s *session, lease *leasehold.Lease, run func(job) (supervise.Outcome, error),
) (outcome supervise.Outcome, err error) {
	due := []once.Tick{j.tick}
	if j.catchUp > 1 {
		if due, err = j.onceJob(s.client).Due(lease.Context(), j.ticks, j.asOf); err != nil {
			return outcome, withExitCode(err)
		}
	}
	for _, j.tick = range due {
		one, done, err := a.runOnce(j, s, lease, run)
		if err != nil || one.Lost != nil || one.Status != 0 {
			outcome = one
		}
		if err != nil || !done {
			return outcome, err
		}
	}
	return outcome, nil
}

// runOnce runs the program under the lease, unless the tick is done meanwhile, and records that it is done. It reports
// whether it is.
func (a *app) runOnce(
	j job, s *session, lease *leasehold.Lease, run func(job) (supervise.Outcome, error),
) (outcome supervise.Outcome, done bool, err error) {
	ran := false
	result, recorded := j.onceJob(s.client).DoUnder(lease, j.tick, func(context.Context, *once.Work) error {
		ran = true
		if outcome, err = run(j); err != nil {
			return errors.Join(err, once.ErrCutShort)
		}
		return outcomeError(outcome)
	})
	switch {
	case err != nil || !ran && recorded != nil:
		if err == nil {
			err = withExitCode(recorded)
		}
	case !ran:
		a.detailDone(j, result)
	case errors.Is(recorded, once.ErrNotRecorded):
		a.say("%v", recorded)
	}
	return outcome, result.Done, err
}

// outcomeError returns why a run of the program is no success, or nil.
func outcomeError(o supervise.Outcome) error {
	switch {
	case o.Lost != nil:
		return fmt.Errorf("%w: %w", once.ErrCutShort, o.Lost)
	case o.Status.Signaled():
		return fmt.Errorf("%w by signal %d", once.ErrCutShort, o.Status.Signal())
	case o.Status.ExitStatus() != 0 && o.Told:
		return fmt.Errorf("%w by a signal to leasehold", once.ErrCutShort)
	case o.Status.ExitStatus() != 0:
		return fmt.Errorf("exit status %d", o.Status.ExitStatus())
	}
	return nil
}

// tickVariable tells CMD its tick.
const tickVariable = "LEASEHOLD_TICK"
