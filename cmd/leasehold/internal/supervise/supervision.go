//go:build unix

package supervise

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/processgroup"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

// How often to check for changes of which nothing notifies.
const (
	// fastCheck: the end of processes that are not children of this one.
	fastCheck = 10 * time.Millisecond
	// slowCheck: a machine that slept, during which timers stood still.
	slowCheck = time.Second
)

type phase int

const (
	running phase = iota
	ending        // SIGTERM was sent
	killed        // SIGKILL was sent
)

// supervision is the state machine of one call of Run. One goroutine drives it: an event comes in, and step checks
// everything.
type supervision struct {
	lease    Lease
	group    *processgroup.Group
	terminal *terminal.Terminal
	signals  chan os.Signal
	plan     Plan

	endAt     time.Time // set by Plan.MaxHold; zero: never
	phase     phase
	lost      error
	told      bool // see Outcome.Told
	survivors bool
	killAt    time.Time // in phase ending
	giveUpAt  time.Time // in phase killed
	job       jobControl
}

// Run passes the incoming signals on to the group and keeps the group inside the lease. It returns when the program has
// ended by itself, or when the whole group has ended because the lease was lost. It does not touch what a program
// leaves running that ends by itself.
//
// signals must be registered with signal.Notify. The terminal may be nil; Run lends it to the group and takes it back.
func Run(lease Lease, g *processgroup.Group, t *terminal.Terminal, signals chan os.Signal, plan Plan) Outcome {
	s := &supervision{lease: lease, group: g, terminal: t, signals: signals, plan: plan}
	if plan.MaxHold > 0 {
		s.endAt = time.Now().Add(plan.MaxHold)
	}
	over := lease.Context().Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !s.step() {
		timer.Reset(s.untilNextCheck())
		select {
		case <-g.Changed():
		case <-timer.C:
		case sig := <-signals:
			s.passOn(sig.(unix.Signal))
		case <-over:
			over = nil
		}
	}
	status, _ := g.Exited()
	return Outcome{Status: status, Lost: s.lost, Told: s.told, Survivors: s.survivors}
}

// step acts on the current state, and reports whether supervision is over.
func (s *supervision) step() bool {
	stopped := s.group.Reap()
	_, exited := s.group.Exited()
	if s.phase == running {
		if stopped != 0 && !exited {
			s.noteStopped(stopped)
		}
		s.checkLease(exited)
	}
	switch s.phase {
	case running:
		if exited {
			return true
		}
		s.resumeGroup()
	case ending:
		if !s.group.HasEnded() && (!time.Now().Before(s.killAt) || s.remaining() <= s.plan.margin()) {
			s.killGroup()
		}
		return s.group.HasEnded()
	case killed:
		s.survivors = !time.Now().Before(s.giveUpAt)
		return s.group.HasEnded() || s.survivors
	}
	return false
}

// checkLease checks whether the lease is lost or about to be.
func (s *supervision) checkLease(exited bool) {
	if s.lost != nil {
		return
	}
	reserve := s.plan.margin()
	switch {
	case exited, s.plan.Policy == Warn:
		reserve = 0
	case !s.job.stopped: // a stopped group is killed at once, so it needs no time to end
		reserve += s.plan.grace()
	}
	ctx := s.lease.Context()
	remaining := s.remaining()
	switch {
	case ctx.Err() != nil:
		s.lost = context.Cause(ctx)
	case remaining <= reserve:
		s.lost = ErrNotRenewed
	case !exited && s.isOverMaxHold():
		s.lost = ErrMaxHold
	default:
		return
	}
	s.plan.OnLost(s.lost)
	if !exited && s.plan.Policy != Warn {
		s.endGroup()
	}
}

// isOverMaxHold reports whether the program has run for Plan.MaxHold.
func (s *supervision) isOverMaxHold() bool { return !s.endAt.IsZero() && !time.Now().Before(s.endAt) }

// endGroup begins to end the group.
func (s *supervision) endGroup() {
	wait := min(s.plan.grace(), s.remaining()-s.plan.margin())
	if wait <= 0 || s.job.stopped {
		s.killGroup()
		return
	}
	s.phase = ending
	s.killAt = time.Now().Add(wait)
	s.signal(unix.SIGTERM)
	s.signal(unix.SIGCONT) // a stopped process gets SIGTERM only when it continues
}

func (s *supervision) killGroup() {
	s.phase = killed
	s.giveUpAt = time.Now().Add(killTimeout)
	s.signal(unix.SIGKILL)
}

// signal sends a signal to the group. Its effect shows in the state of the group, so errors are ignored.
func (s *supervision) signal(sig unix.Signal) { _ = s.group.Signal(sig) }

// remaining returns the time until the deadline, by the monotonic or the wall clock, whichever has less left.
func (s *supervision) remaining() time.Duration {
	now, deadline := time.Now(), s.lease.Deadline()
	return min(deadline.Sub(now), deadline.Round(0).Sub(now.Round(0)))
}

// untilNextCheck returns when the next check is due if no event comes in.
func (s *supervision) untilNextCheck() time.Duration {
	if s.phase != running || s.job.resuming {
		return fastCheck
	}
	wait := slowCheck
	if s.job.stopped {
		wait = min(wait, time.Until(s.job.resumeAt))
	}
	if s.lost == nil && s.plan.Policy != Warn {
		wait = min(wait, s.remaining()-s.plan.margin()-s.plan.grace())
	}
	if s.lost == nil && !s.endAt.IsZero() {
		wait = min(wait, time.Until(s.endAt))
	}
	return max(wait, time.Millisecond)
}
