//go:build unix

package supervise

import (
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// job is what shells call job control: Ctrl-Z, fg and bg. The shell knows this process
// only, so that when the group stops this process stops too, and goes on before the
// group does.
type job struct {
	// stopped: the group has been stopped by the terminal, and so was this process.
	stopped bool
	// resuming: this process goes on, and the group will if the lease allows.
	resuming bool
	// resumeAt: if nobody has said SIGCONT until then, this process was never
	// stopped. The kernel stops only those whom a shell can wake again.
	resumeAt time.Time
	// asked is when this process was last told to stop, and passed that on.
	asked time.Time
}

const (
	awake = 200 * time.Millisecond
	// together: a stop within this time of a request to stop follows from the request, even
	// if it has another cause as well. To undo it would undo both.
	together = time.Second
)

// pass passes a signal on to the group. Once the group is being ended, nothing is passed
// on.
func (w *watch) pass(sig unix.Signal) {
	switch {
	case w.phase != running:
	case sig == unix.SIGCONT:
		// This process may have been stopped for longer than its lease lasts.
		w.job.resuming = true
	case sig == unix.SIGTSTP:
		w.job.asked = time.Now()
		w.send(sig)
	default:
		w.send(sig)
	}
}

// stopped follows the group when the terminal has stopped it. A group that was
// stopped by SIGSTOP is somebody's own affair: the lease goes on being renewed.
func (w *watch) stopped(by unix.Signal) {
	id := w.group.ID()
	switch by {
	case unix.SIGTTIN, unix.SIGTTOU:
		// The group has asked for the terminal. If it is this process's to give, or was
		// given a moment too late, there is no reason to stop.
		asked := time.Since(w.job.asked) < together
		if !asked && (w.terminal.Lend(id) || w.terminal.HeldBy(id)) {
			w.send(unix.SIGCONT)
			return
		}
	case unix.SIGTSTP:
		if w.terminal.HeldBy(id) {
			// Ctrl-Z has reached the group in the foreground only. It was meant for
			// this process's group as well: a pipeline, a script.
			signal.Ignore(unix.SIGTSTP)
			_ = unix.Kill(0, unix.SIGTSTP)
			signal.Notify(w.signals, unix.SIGTSTP)
		}
	default:
		return
	}
	w.job = job{stopped: true}
	// SIGTTIN stops a process as SIGTSTP does, but Go does not let a program take back
	// that it has once caught a signal, and SIGTSTP has to be caught: a process that
	// stops while its group runs on would lose the lease.
	_ = unix.Kill(unix.Getpid(), unix.SIGTTIN)
	w.job.resumeAt = time.Now().Add(awake)
}

// goOn lets the group run again after a stop, once the lease is good for it. Until then it
// stays stopped: if the lease turns out to be lost, it never runs again.
func (w *watch) goOn() {
	if w.job.stopped && !time.Now().Before(w.job.resumeAt) {
		w.job.resuming = true
	}
	if !w.job.resuming {
		return
	}
	if w.job.stopped && w.lost == nil && w.plan.Policy != Warn && w.remaining() <= w.plan.margin()+w.plan.grace() {
		return // a renewal is due: look decides
	}
	w.job = job{}
	if w.terminal.Lent() {
		w.terminal.Lend(w.group.ID())
	}
	w.send(unix.SIGCONT)
}
