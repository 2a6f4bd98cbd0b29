//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/group"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/supervise"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

// hold takes the lock, runs the program under it, and lets go.
func (a *app) hold(j job) error {
	signals := make(chan os.Signal, 64)
	catch(signals, endings)
	// A message that nobody reads must not end this process before its group.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	heard := &heard{waits: func(reason error) { a.say("waiting: %s", reason) }}
	s, err := a.openUnless(signals, func() (*session, error) {
		return a.open(leasehold.WithObserver(heard), leasehold.WithMaxWaiters(j.maxWaiters))
	})
	if err != nil {
		return err
	}
	if longest := a.can.MaxTTL; longest > 0 && !j.given("ttl") {
		j.ttl = min(j.ttl, period(longest))
	}
	if err := j.fit(); err != nil {
		s.close()
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lease, err := a.take(ctx, cancel, s.client, j, signals)
	if err != nil {
		s.close() // which undoes what an unanswered request may have taken
		return err
	}
	if err := j.whole(ctx, lease); err != nil {
		_ = a.release(lease) // why it is no use to anybody is what matters
		s.close()
		return err
	}
	outcome, err := a.under(j, s.url, lease, heard, signals)
	released := a.release(lease)
	if !errors.Is(released, leasehold.ErrUnknown) {
		s.close() // it would ask an engine that does not answer once more
	}
	switch {
	case err != nil:
		return err
	case outcome.Lost != nil:
		return exit.Silent(exit.Lost) // why has been said
	case errors.Is(released, leasehold.ErrLost), errors.Is(released, leasehold.ErrMaxHold):
		return exit.Errorf(exit.Lost, "the lease of %q was lost before the command ended: others may have held the lock at the same time, so check what it did", j.name)
	case outcome.Status.Signaled():
		return exit.Silent(exit.Signal(int(outcome.Status.Signal())))
	}
	return exit.Silent(outcome.Status.ExitStatus())
}

// under runs the program under the lease.
func (a *app) under(j job, url string, lease *leasehold.Lease, heard *heard, signals chan os.Signal) (supervise.Outcome, error) {
	env, err := j.environment(lease, url)
	if err != nil {
		return supervise.Outcome{}, err
	}
	catch(signals, others)
	if sig := pending(signals); sig != 0 {
		return supervise.Outcome{}, exit.Silent(exit.Signal(int(sig)))
	}
	tty := terminal.Open() // while its modes are still those of the shell
	defer tty.Close()
	g, err := group.Start(j.path, j.argv, env)
	if err != nil {
		return supervise.Outcome{}, exit.Errorf(exit.CannotRun, "command %q cannot be run: %w", j.argv[0], err)
	}
	defer g.Close()
	if terminal.IsTerminal(a.in) {
		tty.Lend(g.ID())
	}
	said := make(chan struct{})
	outcome := supervise.Watch(lease, g, tty, signals, supervise.Plan{
		Policy:    policies[j.onLost.word],
		KillAfter: time.Duration(j.killAfter),
		TTL:       time.Duration(j.ttl),
		MaxHold:   j.ending(),
		Lost: func(cause error) {
			text := j.lost(cause, heard)
			// Standard error may be blocked. The group's end does not wait for it.
			go func() { defer close(said); a.say("%s", text) }()
		},
	})
	a.interrupted = tty.Lent() && outcome.Status.Signaled() && outcome.Status.Signal() == unix.SIGINT
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
	if outcome.Left {
		a.say("processes of group %d were killed but do not end: they hang in the kernel or belong to another user; end them by hand", g.ID())
	}
	return outcome, nil
}

// release lets go of the lock, and says so if that was not confirmed.
func (a *app) release(l *leasehold.Lease) error {
	err := l.Release()
	if errors.Is(err, leasehold.ErrUnknown) {
		a.say("the release of %q was not confirmed by the engine: the lock is free when its ttl has passed", l.Name())
	}
	return err
}

// interrupt passes on the interrupt that the terminal sent. The shell, or script, that has started this
// process looks whether it was ended by a signal, to know whether to go on; and others of its
// group have not had the signal, if the terminal was lent. A shell shows 130 either way.
func (a *app) interrupt() {
	tty := terminal.Open()
	defer tty.Close()
	if a.interrupted && terminal.IsTerminal(a.in) && tty.Mine() {
		signal.Reset(unix.SIGINT)
		_ = unix.Kill(0, unix.SIGINT) // and if it fails, the exit code says the same
	}
}
