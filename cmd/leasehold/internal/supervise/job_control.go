//go:build unix

package supervise

import (
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// jobControl follows the job control of the shell: Ctrl-Z, fg and bg. The shell knows only this process. So when the
// group stops, this process stops as well, and it continues before the group does.
type jobControl struct {
	// stopped: the terminal has stopped the group, and this process has stopped itself.
	stopped bool
	// resuming: this process has continued, and the group will if the lease allows.
	resuming bool
	// resumeAt: without SIGCONT until then, this process was never stopped. The kernel does not stop processes that no
	// shell could continue.
	resumeAt time.Time
	// stopAskedAt is when this process was last asked to stop, and passed that on.
	stopAskedAt time.Time
}

const (
	resumeTimeout = 200 * time.Millisecond
	// sameStopWindow: a stop this soon after a request to stop counts as its result, even if it also has another cause.
	// Undoing one would undo both.
	sameStopWindow = time.Second
)

// passOn passes a signal on to the group. While the group is being ended it does nothing.
func (s *supervision) passOn(sig unix.Signal) {
	switch {
	case s.phase != running:
	case sig == unix.SIGCONT:
		// This process may have been stopped for longer than its lease lasts.
		s.job.resuming = true
	case sig == unix.SIGTSTP:
		s.job.stopAskedAt = time.Now()
		s.signal(sig)
	default:
		switch sig {
		case unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT: // others may mean anything
			s.told = true
		}
		s.signal(sig)
	}
}

// noteStopped acts when the group was stopped. After a stop by the terminal, this process stops, too. SIGSTOP comes
// from some other process and is none of its business: the lease is renewed as before.
func (s *supervision) noteStopped(by unix.Signal) {
	id := s.group.ID()
	switch by {
	case unix.SIGTTIN, unix.SIGTTOU:
		// The group wants the terminal. If this process can lend it, or lent it a moment too late, there is no reason
		// to stop.
		asked := time.Since(s.job.stopAskedAt) < sameStopWindow
		if !asked && (s.terminal.Lend(id) || s.terminal.IsHeldBy(id)) {
			s.signal(unix.SIGCONT)
			return
		}
	case unix.SIGTSTP:
		if s.terminal.IsHeldBy(id) {
			// Ctrl-Z has reached only the foreground group. It was meant for this process's group as well: a pipeline,
			// a script.
			signal.Ignore(unix.SIGTSTP)
			_ = unix.Kill(0, unix.SIGTSTP)
			signal.Notify(s.signals, unix.SIGTSTP)
		}
	default:
		return
	}
	s.job = jobControl{stopped: true}
	// SIGTTIN stops a process as SIGTSTP does, but a Go program that has caught a signal once cannot restore its
	// default action; and SIGTSTP must be caught, since a process that stops while its group runs on would lose the
	// lease.
	_ = unix.Kill(unix.Getpid(), unix.SIGTTIN)
	s.job.resumeAt = time.Now().Add(resumeTimeout)
}

// resumeGroup continues the group after a stop, as soon as the lease allows it. If the lease turns out to be lost, the
// group never runs again.
func (s *supervision) resumeGroup() {
	if s.job.stopped && !time.Now().Before(s.job.resumeAt) {
		s.job.resuming = true
	}
	if !s.job.resuming {
		return
	}
	if s.job.stopped && s.lost == nil && s.plan.Policy != Warn && s.remaining() <= s.plan.margin()+s.plan.grace() {
		return // a renewal is due: checkLease decides
	}
	s.job = jobControl{}
	if s.terminal.WasLent() {
		s.terminal.Lend(s.group.ID())
	}
	s.signal(unix.SIGCONT)
}
