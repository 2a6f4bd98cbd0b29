//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"math"
	"os/exec"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/cron"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/supervise"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/once"
)

// runFlags are the flags of run.
type runFlags struct {
	nonblock, shared, skipOK bool
	wait                     period
	slots, maxWaiters        int
	ttl, minHold, maxHold    period
	onLost                   choice
	killAfter                period
	conflictCode             int
	passEngine               bool
	label                    string
	verbose, quiet           bool
	reportTo                 int
	tickFlags

	given      func(name string) bool   // the flag was given
	configured map[string]config.Source // flags that were not given, and that a config file sets
}

// isSet reports whether a flag was given, or a config file sets it.
func (f *runFlags) isSet(name string) bool {
	_, configured := f.configured[name]
	return configured || f.given(name)
}

func defaultRunFlags() *runFlags {
	return &runFlags{
		ttl:       period(leasehold.DefaultTTL),
		onLost:    choice{value: "term", allowed: []string{"term", "kill", "warn"}},
		killAfter: period(5 * time.Second),
	}
}

// job is the checked input of run: flags and arguments.
type job struct {
	name string
	path string    // of the program
	argv []string  // of the program
	tick once.Tick // that it runs for; the zero Tick if it runs each time
	// ticks is the schedule of the tick, or nil, and asOf when the tick was found.
	ticks once.Schedule
	asOf  time.Time
	runFlags
}

func (a *app) run() *cobra.Command {
	f := defaultRunFlags()
	cmd := &cobra.Command{
		Use:   "run [flags] NAME -- CMD [ARG...]",
		Short: "Run a program while holding a lock",
		Long: `Run a program while holding a lock.

CMD runs without a shell, in a process group of its own, on the same terminal, and gets
the signals that leasehold gets. If the lease is lost, the whole group is ended before
others can have the lock. What CMD leaves running when it ends by itself is not touched,
and no longer protected.

CMD finds LEASEHOLD_NAME, LEASEHOLD_TOKEN, LEASEHOLD_DEADLINE_UNIX_MS (the deadline at its
start; renewals move it) and LEASEHOLD_TTL_MS in its environment. The token grows with
every grant: send it along with every write, and let the other side refuse older ones.
LEASEHOLD_HELD tells a leasehold inside of CMD what the enclosing ones hold: it refuses at
once, with 75, to wait for what it could never get.

With --every, --schedule or --once, CMD runs once per tick, although leasehold is started on many
machines: one of them runs it, and the others exit with 0 when it has ended. With --nonblock they
exit with 0 at once. LEASEHOLD_TICK is the tick: the time at which CMD was due, or the key. A tick
is done when CMD has ended by itself, whatever its exit code; see leasehold runs and docs/once.md.

While it waits on a terminal, it says who holds the lock. In listings the holder is CMD,
without its arguments, with your user name, the host and the label. In a crontab, say the
engine: cron does not pass on the variables of your shell.

Exit codes: that of CMD; 128+N if signal N ended CMD, or the wait; 64 wrong usage; 69 it is
not known whether somebody holds the lock: the engine cannot be reached, does not answer, or
grants nothing to anybody for a while after a restart; 70 lease lost before CMD ended, or
--max-hold reached; 75 held, or not granted in time, or too many waiters; 78 a config file is
wrong; 126 CMD cannot be run; 127 CMD not found. CMD has not run with 64, 69, 75, 78, 126, 127.`,
		Example: `  leasehold run nightly -- backup --full
  leasehold run --nonblock --skip-ok --min-hold 1m report -- make-report
  leasehold run --wait 30s --max-hold 10m deploy -- sh -c 'build && push'
  leasehold run --slots 3 transcode -- ffmpeg -i in.mov out.mp4
  leasehold run --schedule '0 3 * * *' --zone Europe/Berlin nightly -- nightly-report
  leasehold run --once 2026-11-27-add-index migrations -- migrate up
  0 3 * * *  LEASEHOLD_ENGINE=redis://10.0.0.1 leasehold run -n --skip-ok nightly -- nightly-report`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := a.readConfig()
			if err == nil {
				err = f.applyConfig(cmd.Flags(), files)
			}
			if err != nil {
				return err
			}
			j, err := f.job(cmd, args)
			if err != nil {
				return err
			}
			err = a.runHeld(j)
			a.passOnInterrupt()
			return err
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows NAME belongs to CMD
	f.given = flags.Changed
	f.register(flags)
	return cmd
}

func (f *runFlags) register(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.nonblock, "nonblock", "n", false, "do not wait")
	flags.VarP(&f.wait, "wait", "w", "wait at most this long; 0 is --nonblock (default for ever)")
	flags.IntVar(&f.maxWaiters, "max-waiters", admin.DefaultMaxWaiters,
		"do not wait if `N` others wait for the lock already")
	flags.BoolVarP(&f.shared, "shared", "s", false, "take a read lock: many may hold it while nobody writes")
	flags.IntVar(&f.slots, "slots", 0, "take one of `N` permits instead of a lock; all must say the same N")
	flags.Var(&f.ttl, "ttl",
		"how long the lock stays taken if this machine dies; at most the longest of the engine, which also limits the "+
			"default")
	flags.Var(&f.minHold, "min-hold", "keep the lock at least this long, even if CMD ends sooner")
	flags.Var(&f.maxHold, "max-hold",
		"end CMD after it has run this long, as --on-lost says, and then release the lock (default no limit)")
	flags.Var(&f.onLost, "on-lost",
		"what to do with CMD if the lease is lost or --max-hold has passed: SIGTERM and then SIGKILL, SIGKILL at "+
			"once, or a message only")
	flags.Var(&f.killAfter, "kill-after",
		"time between SIGTERM and SIGKILL: at most a third of --ttl, which also limits the default")
	flags.IntVarP(&f.conflictCode, "conflict-exit-code", "E", exit.Held,
		"exit `CODE` instead of 75 if the lock is held, or not granted in time")
	flags.BoolVar(&f.passEngine, "pass-engine", false,
		"let CMD have the engine, in LEASEHOLD_ENGINE, and the passwords in the environment")
	flags.BoolVar(&f.skipOK, "skip-ok", false,
		"exit with 0 if the lock is held by somebody else, or not granted in time")
	flags.StringVar(&f.label, "label", "",
		"the class of this job, by which metrics count its lock: `TEXT` of at most 128 bytes; use few different ones")
	flags.BoolVar(&f.verbose, "verbose", false,
		"say on standard error who holds the lock, also without a terminal, and when it is granted and released")
	flags.BoolVar(&f.quiet, "quiet", false, "say nothing but errors")
	flags.IntVar(&f.reportTo, cron.ReportFlag, 0, "write to descriptor `FD` when CMD starts, for leasehold cron")
	_ = flags.MarkHidden(cron.ReportFlag) // it exists
	f.tickFlags.register(flags)
}

// job checks flags and arguments.
func (f *runFlags) job(cmd *cobra.Command, args []string) (job, error) {
	if len(args) == 0 {
		return job{}, exit.Errorf(exit.Usage, "NAME and CMD are missing: the form is %s", cmd.UseLine())
	}
	argv := args[1:]
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	} else if len(argv) > 0 {
		if err := refuseLateFlag(cmd, args[0], argv[0]); err != nil {
			return job{}, err
		}
	}
	if len(argv) == 0 {
		return job{}, exit.Errorf(exit.Usage, "CMD is missing behind NAME %q: the form is %s", args[0], cmd.UseLine())
	}
	if err := checkName(args[0]); err != nil {
		return job{}, err
	}
	if err := f.check(); err != nil {
		return job{}, err
	}
	j := job{name: args[0], argv: argv, runFlags: *f}
	if err := j.setTick(time.Now()); err != nil {
		return job{}, err
	}
	path, err := findProgram(argv[0])
	j.path = path
	return j, err
}

// check refuses flags that contradict each other.
func (f *runFlags) check() error {
	switch {
	case f.verbose && f.quiet:
		return exit.Errorf(exit.Usage, "--verbose and --quiet contradict each other: say one of them")
	case f.nonblock && f.wait > 0:
		return exit.Errorf(exit.Usage, "--nonblock and --wait %s contradict each other: say one of them",
			f.wait.String())
	case f.skipOK && f.given("conflict-exit-code"):
		return exit.Errorf(exit.Usage, "--skip-ok and --conflict-exit-code contradict each other: say one of them")
	case f.conflictCode < 0 || f.conflictCode > 255:
		return exit.Errorf(exit.Usage, "--conflict-exit-code %d is not allowed: it must be 0 to 255", f.conflictCode)
	case f.given("slots") && f.shared:
		return exit.Errorf(exit.Usage, "--slots and --shared contradict each other: permits have no read mode")
	case f.given("slots") && f.slots < 1:
		return exit.Errorf(exit.Usage, "--slots %d is not allowed: it must be at least 1", f.slots)
	case f.maxWaiters < 1 || f.maxWaiters > math.MaxInt32:
		return exit.Errorf(exit.Usage,
			"--max-waiters %d is not allowed: it must be 1 to 2147483647; for not waiting at all there is --nonblock",
			f.maxWaiters)
	case f.given("max-hold") && time.Duration(f.maxHold) < leasehold.MinTTL:
		return exit.Errorf(exit.Usage,
			"--max-hold %s is not allowed: it must be at least %s; leave it out for no limit", time.Duration(f.maxHold),
			leasehold.MinTTL)
	case f.maxHold > 0 && f.minHold > f.maxHold:
		return exit.Errorf(exit.Usage, "--min-hold %s is not allowed: it must be at most --max-hold, %s",
			f.minHold.String(), f.maxHold.String())
	case f.onLost.value != "term" && f.killAfter > 0 && f.given("kill-after"):
		where := ""
		if at, configured := f.configured["on-lost"]; configured {
			where = " (" + at.String() + ")"
		}
		return exit.Errorf(exit.Usage,
			"--on-lost %s%s and --kill-after %s contradict each other: without SIGTERM there is nothing to wait for, "+
				"so leave one of them out", f.onLost.value, where, f.killAfter.String())
	case f.given("label"):
		if err := checkLabel(f.label); err != nil {
			return &exit.Error{Code: exit.Usage, Err: err}
		}
	}
	if err := f.checkTick(); err != nil {
		return err
	}
	if len(f.givenTicks()) > 0 && !f.given("conflict-exit-code") {
		f.skipOK = true // others run it
	}
	return f.limitKillAfter()
}

// limitKillAfter limits the time between SIGTERM and SIGKILL to what the ttl has room for. It shortens the default, and
// refuses a longer value that the user has set.
func (f *runFlags) limitKillAfter() error {
	most := f.ttl / 3
	if f.given("kill-after") && f.killAfter > most {
		return exit.Errorf(exit.Usage,
			"--kill-after %s is not allowed: it must be at most %s, a third of the ttl of %s, since renewals may take "+
				"the rest: make it shorter, or --ttl longer",
			f.killAfter.String(), time.Duration(most).Truncate(time.Millisecond), time.Duration(f.ttl))
	}
	f.killAfter = min(f.killAfter, most)
	return nil
}

// checkAbilities refuses flags that the engine cannot serve.
func (f *runFlags) checkAbilities(e driver.Engine, can driver.Abilities) error {
	switch {
	case len(f.givenTicks()) > 0:
		return checkKeepsData(e, can)
	case f.given("slots") && !can.Semaphores:
		return exit.Errorf(exit.Usage, "--slots needs semaphores, which are not supported by this engine, %s: memory, "+
			"sqlite, redis, redisson (without lock=fair), postgres, etcd and zookeeper have them", can.Name)
	case f.shared && !can.Shared:
		return exit.Errorf(exit.Usage, "--shared needs read-write locks, which are not supported by this engine, %s: "+
			"memory, sqlite, redis, redisson with lock=readwrite, postgres, etcd and zookeeper have them", can.Name)
	}
	return nil
}

// runLimit returns the time after which --max-hold ends the program, or 0. With --on-lost warn the program goes on, and
// only the library gives up the lock.
func (f *runFlags) runLimit() time.Duration {
	if policies[f.onLost.value] == supervise.Warn {
		return 0
	}
	return time.Duration(f.maxHold)
}

// policies are the values of --on-lost.
var policies = map[string]supervise.Policy{"term": supervise.Term, "kill": supervise.Kill, "warn": supervise.Warn}

// findProgram returns the path of the program, so that a wrong one is found before the lock is taken.
func findProgram(program string) (string, error) {
	path, err := exec.LookPath(program)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot): // the user's own PATH says so
		return path, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", exit.Errorf(exit.NotFound,
			"command %q was not found: give a path, or a program in PATH (leasehold starts no shell: use sh -c '...')",
			program)
	}
	return "", exit.Errorf(exit.CannotRun, "command %q cannot be run: %w", program, withoutPath(err))
}

// withoutPath unwraps errors that repeat the path.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err
}
