//go:build unix

package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/processgroup"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/supervise"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

// runHeld acquires the lock, runs the program under it, and releases it.
func (a *app) runHeld(j job) error {
	signals := make(chan os.Signal, 64)
	catch(signals, endingSignals)
	if j.reportTo > 0 {
		unix.CloseOnExec(j.reportTo) // CMD must not have it
	}
	// A message that nobody reads must not end this process before the group.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	events := a.leaseEvents(j)
	s, err := unlessSignaled(a, signals, a.open)
	if err != nil {
		return err
	}
	s.client = leasehold.New(s.engine, leasehold.WithObserver(events), leasehold.WithMaxWaiters(j.maxWaiters),
		leasehold.WithRequestTimeout(RequestTimeout), leasehold.WithHolder(j.holder().String()))
	if longest := a.abilities.MaxTTL; longest > 0 && !j.isSet("ttl") {
		j.ttl = min(j.ttl, period(longest))
	}
	if err := cmp.Or(j.limitKillAfter(), j.checkAbilities(s.engine, a.abilities)); err != nil {
		s.closeSoon()
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !j.tick.IsZero() {
		done, err := unlessSignaled(a, signals, func() (bool, error) { return a.isDone(ctx, s, j) })
		if done || err != nil {
			s.closeSoon()
			return err
		}
	}
	lease, err := a.acquire(ctx, cancel, s, j, signals)
	if err != nil {
		return err
	}
	run := func(j job) (supervise.Outcome, error) { return a.runUnderLease(j, s.url, lease, events, signals) }
	var outcome supervise.Outcome
	if j.tick.IsZero() {
		outcome, err = run(j)
	} else {
		outcome, err = a.runDue(j, s, lease, run)
	}
	released := a.release(lease, signals)
	if released == nil {
		a.detail(j, "released %q", j.name)
	}
	if !errors.Is(released, leasehold.ErrUnknown) {
		awaitUnlessSignaled(signals, false, s.close) // otherwise it would once more ask an engine that does not answer
	}
	switch {
	case err != nil:
		return err
	case outcome.Lost != nil:
		return exit.Silent(exit.Lost) // the reason has been printed
	case errors.Is(released, leasehold.ErrLost), errors.Is(released, leasehold.ErrMaxHold):
		return exit.Errorf(exit.Lost,
			"the lease of %q was lost before the command ended: others may have held the lock at the same time, so "+
				"check what it did", j.name)
	case outcome.Status.Signaled():
		return exit.Silent(exit.Signal(int(outcome.Status.Signal())))
	}
	return exit.Silent(outcome.Status.ExitStatus())
}

// runUnderLease runs the program under the lease.
func (a *app) runUnderLease(
	j job, url string, lease *leasehold.Lease, events *leaseEvents, signals chan os.Signal,
) (supervise.Outcome, error) {
	env, err := j.environment(lease, url)
	if err != nil {
		return supervise.Outcome{}, err
	}
	catch(signals, jobSignals)
	if sig := pendingSignal(signals); sig != 0 {
		signals <- sig // it ends the release as well
		return supervise.Outcome{}, exit.Silent(exit.Signal(int(sig)))
	}
	tty := terminal.Open() // while the shell's modes are still set
	defer tty.Close()
	j.report()
	g, err := processgroup.Start(j.path, j.argv, env)
	if err != nil {
		return supervise.Outcome{}, exit.Errorf(exit.CannotRun, "command %q cannot be run: %w", j.argv[0], err)
	}
	defer g.Close()
	if terminal.IsTerminal(a.in) {
		tty.Lend(g.ID())
	}
	said := make(chan struct{})
	outcome := supervise.Run(lease, g, tty, signals, supervise.Plan{
		Policy:    policies[j.onLost.value],
		KillAfter: time.Duration(j.killAfter),
		TTL:       time.Duration(j.ttl),
		MaxHold:   j.runLimit(),
		OnLost: func(cause error) {
			text := j.describeLoss(cause, events)
			// Standard error may be blocked. Ending the group must not wait for it.
			go func() { defer close(said); a.say("%s", text) }()
		},
	})
	for pendingSignal(signals) != 0 { // they were for the program
	}
	a.interrupted = tty.WasLent() && outcome.Status.Signaled() && outcome.Status.Signal() == unix.SIGINT
	if outcome.Lost != nil || outcome.Status.Signaled() {
		tty.Reclaim(g.ID())
	} else {
		tty.TakeBack(g.ID())
	}
	if outcome.Lost != nil {
		select {
		case <-said:
		case <-time.After(time.Second):
		}
	}
	if outcome.Survivors {
		a.say("processes of group %d were killed but do not end: they hang in the kernel or belong to another user; "+
			"end them by hand", g.ID())
	}
	return outcome, nil
}

// report tells leasehold cron that CMD starts.
func (j job) report() {
	if j.reportTo > 0 {
		_, _ = unix.Write(j.reportTo, []byte("\n")) // nobody may listen any more
	}
}

// release releases the lock, and says so if the engine does not confirm that. A signal soon ends the wait for the
// confirmation.
func (a *app) release(l *leasehold.Lease, signals <-chan os.Signal) error {
	err, answered := awaitUnlessSignaled(signals, false, l.Release)
	if !answered {
		err = leasehold.ErrUnknown
	}
	if errors.Is(err, leasehold.ErrUnknown) {
		a.say("the release of %q was not confirmed by the engine: the lock is free when its ttl has passed", l.Name())
	}
	return err
}

// passOnInterrupt passes on the interrupt that the terminal has sent. The shell or script that has started this process
// checks whether a signal has ended it, to decide whether to go on; and if the terminal was lent, the other processes
// of its group have not had the signal. A shell reports 130 either way.
func (a *app) passOnInterrupt() {
	tty := terminal.Open()
	defer tty.Close()
	if a.interrupted && terminal.IsTerminal(a.in) && tty.IsForeground() {
		signal.Reset(unix.SIGINT)
		_ = unix.Kill(0, unix.SIGINT) // if it fails, the exit code still says so
	}
}
