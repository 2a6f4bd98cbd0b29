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
}

func (f *tickFlags) register(flags *pflag.FlagSet) {
	flags.Var(&f.every, "every", "run once in each period of this length, as 1h; all must say the same")
	flags.StringVar(&f.schedule, "schedule", "", "run once for each tick of `CRON`, as '0 3 * * *' or @hourly")
	flags.StringVar(&f.zone, "zone", "UTC", "the time `ZONE` of --schedule, as Europe/Berlin")
	flags.StringVar(&f.key, "once", "", "run once for `KEY`, and for no key that sorts before it")
	flags.BoolVar(&f.retryFailed, "retry-failed", false,
		"a run of CMD that fails does not count: the next run repeats it")
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
	case len(ticks) > 0 && (f.shared || f.given("slots")):
		return exit.Errorf(exit.Usage, "%s needs the lock for itself: leave out --shared and --slots", ticks[0])
	}
	return nil
}

// tick returns the tick that is due at now, or the zero Tick if the run is not for one.
func (f *runFlags) tick(now time.Time) (once.Tick, error) {
	switch {
	case f.given("once"):
		return once.Key(f.key), checkTickKey(f.key)
	case f.given("every"):
		if time.Duration(f.every) < time.Millisecond {
			return once.Tick{}, exit.Errorf(exit.Usage, "--every %s is not allowed: it must be at least 1ms",
				time.Duration(f.every))
		}
		return once.At(once.Latest(once.Every(time.Duration(f.every)), now).UTC()), nil
	case f.given("schedule"):
		s, err := parseSchedule(f.schedule, f.zone)
		if err != nil {
			return once.Tick{}, err
		}
		latest := once.Latest(s, now)
		if latest.IsZero() {
			return once.Tick{}, exit.Errorf(exit.Usage,
				"--schedule %q has had no tick in the last nine years: check it", f.schedule)
		}
		return once.At(latest), nil
	}
	return once.Tick{}, nil
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

// runOnce runs the program under the lease, unless the tick is done meanwhile, and records that it is done.
func (a *app) runOnce(
	j job, s *session, lease *leasehold.Lease, run func() (supervise.Outcome, error),
) (outcome supervise.Outcome, err error) {
	ran := false
	result, recorded := j.onceJob(s.client).DoUnder(lease, j.tick, func(context.Context, *once.Work) error {
		ran = true
		if outcome, err = run(); err != nil {
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
	return outcome, err
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
