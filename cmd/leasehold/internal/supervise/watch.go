//go:build unix

package supervise

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/group"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

// How often to look while something is expected that nothing tells of.
const (
	// often: the end of processes that are not children of this one.
	often = 10 * time.Millisecond
	// seldom: a machine that slept, during which timers stood still.
	seldom = time.Second
)

type phase int

const (
	running phase = iota
	ending        // SIGTERM was sent
	killed        // SIGKILL was sent
)

// watch is one supervision. It is a machine that one goroutine drives: an event
// comes in, and step looks at everything there is to look at.
type watch struct {
	lease    Lease
	group    *group.Group
	terminal *terminal.Terminal
	signals  chan os.Signal
	plan     Plan

	endAt   time.Time // by Plan.MaxHold; zero: never
	phase   phase
	lost    error
	left    bool
	killAt  time.Time // in phase ending
	leaveAt time.Time // in phase killed
	job     job
}

// Watch passes the signals that come in on to the group and keeps the group inside the lease, until
// the program has ended by itself, or the whole group has ended because the lease was
// lost. What a program that ends by itself leaves running is not touched.
//
// signals must be registered with signal.Notify. The terminal may be nil; Watch lends it
// to the group and takes it back.
func Watch(lease Lease, g *group.Group, t *terminal.Terminal, signals chan os.Signal, plan Plan) Outcome {
	w := &watch{lease: lease, group: g, terminal: t, signals: signals, plan: plan}
	if plan.MaxHold > 0 {
		w.endAt = time.Now().Add(plan.MaxHold)
	}
	over := lease.Context().Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !w.step() {
		timer.Reset(w.next())
		select {
		case <-g.Changed():
		case <-timer.C:
		case sig := <-signals:
			w.pass(sig.(unix.Signal))
		case <-over:
			over = nil
		}
	}
	status, _ := g.Exited()
	return Outcome{Status: status, Lost: w.lost, Left: w.left}
}

// step acts on how things stand and reports whether it is all over.
func (w *watch) step() bool {
	stopped := w.group.Reap()
	_, exited := w.group.Exited()
	if w.phase == running {
		if stopped != 0 && !exited {
			w.stopped(stopped)
		}
		w.look(exited)
	}
	switch w.phase {
	case running:
		if exited {
			return true
		}
		w.goOn()
	case ending:
		if !w.group.Gone() && (!time.Now().Before(w.killAt) || w.remaining() <= w.plan.margin()) {
			w.kill()
		}
		return w.group.Gone()
	case killed:
		w.left = !time.Now().Before(w.leaveAt)
		return w.group.Gone() || w.left
	}
	return false
}

// look finds out whether the lease is lost, or about to be.
func (w *watch) look(exited bool) {
	if w.lost != nil {
		return
	}
	reserve := w.plan.margin()
	switch {
	case exited, w.plan.Policy == Warn:
		reserve = 0
	case !w.job.stopped: // a stopped group needs no time to end: it is killed
		reserve += w.plan.grace()
	}
	ctx := w.lease.Context()
	remaining := w.remaining()
	switch {
	case ctx.Err() != nil:
		w.lost = context.Cause(ctx)
	case remaining <= reserve:
		w.lost = ErrNotRenewed
	case !exited && w.overdue():
		w.lost = ErrMaxHold
	default:
		return
	}
	w.plan.Lost(w.lost)
	if !exited && w.plan.Policy != Warn {
		w.end()
	}
}

// overdue reports whether the program has had all its time.
func (w *watch) overdue() bool { return !w.endAt.IsZero() && !time.Now().Before(w.endAt) }

// end begins to end the group.
func (w *watch) end() {
	wait := min(w.plan.grace(), w.remaining()-w.plan.margin())
	if wait <= 0 || w.job.stopped {
		w.kill()
		return
	}
	w.phase = ending
	w.killAt = time.Now().Add(wait)
	w.send(unix.SIGTERM)
	w.send(unix.SIGCONT) // a stopped process hears of SIGTERM only when it goes on
}

func (w *watch) kill() {
	w.phase = killed
	w.leaveAt = time.Now().Add(patience)
	w.send(unix.SIGKILL)
}

// send sends a signal to the group. What becomes of it is seen in the group itself.
func (w *watch) send(sig unix.Signal) { _ = w.group.Signal(sig) }

// remaining is the time until the deadline, on the clock that says the least.
func (w *watch) remaining() time.Duration {
	now, deadline := time.Now(), w.lease.Deadline()
	return min(deadline.Sub(now), deadline.Round(0).Sub(now.Round(0)))
}

// next is how long nothing need be looked at, unless an event comes in.
func (w *watch) next() time.Duration {
	if w.phase != running || w.job.resuming {
		return often
	}
	wait := seldom
	if w.job.stopped {
		wait = min(wait, time.Until(w.job.resumeAt))
	}
	if w.lost == nil && w.plan.Policy != Warn {
		wait = min(wait, w.remaining()-w.plan.margin()-w.plan.grace())
	}
	if w.lost == nil && !w.endAt.IsZero() {
		wait = min(wait, time.Until(w.endAt))
	}
	return max(wait, time.Millisecond)
}
