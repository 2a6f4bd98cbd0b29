//go:build unix

// Package supervise ends a process group before its lease ends.
package supervise

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Lease is the part of a lease that supervision needs.
type Lease interface {
	Context() context.Context
	// Deadline returns the current deadline. Renewals move it forward.
	Deadline() time.Time
}

// ErrNotRenewed means that the deadline was near and no renewal had come, so the group had to be ended.
var ErrNotRenewed = errors.New("not renewed in time")

// ErrMaxHold means that the program has run for Plan.MaxHold. The lease is still valid, and is kept until the group has
// ended.
var ErrMaxHold = errors.New("held for the longest time allowed")

// Policy says what to do with the group when the lease is lost.
type Policy int

const (
	// Term sends SIGTERM, then SIGKILL after Plan.KillAfter or shortly before the deadline, whichever comes first.
	Term Policy = iota
	// Kill sends SIGKILL at once, and at the latest shortly before the deadline.
	Kill
	// Warn leaves the group alone.
	Warn
)

// Plan says what to do about a lost lease.
type Plan struct {
	Policy Policy
	// KillAfter is the time between SIGTERM and SIGKILL. It is at most a third of TTL: renewals that fail at first need
	// the rest.
	KillAfter time.Duration
	TTL       time.Duration
	// MaxHold is how long the program may run before the group is ended. Zero means no limit. It counts from the call
	// of Run, and does not count while the machine sleeps.
	MaxHold time.Duration
	// OnLost is called once, before the group is ended, when the lease is lost or MaxHold has passed.
	OnLost func(cause error)
}

// grace returns how long before the latest SIGKILL the group is told to end.
func (p Plan) grace() time.Duration {
	if p.Policy != Term {
		return 0
	}
	return max(0, min(p.KillAfter, p.TTL/3))
}

// margin returns how long before the deadline the latest SIGKILL is sent: a loaded machine may need that time until the
// processes have ended.
func (p Plan) margin() time.Duration { return min(p.TTL/10, 500*time.Millisecond) }

// Outcome says how the program and its lease ended.
type Outcome struct {
	// Status is that of the program. It is meaningless if Survivors is set.
	Status unix.WaitStatus
	// Lost says why the lease was lost, or why the group was ended before the program had. Nil means neither.
	Lost error
	// Told says that the group was told to end: SIGINT, SIGTERM, SIGHUP or SIGQUIT was passed on to it.
	Told bool
	// Survivors is set if the lease was lost and processes of the group survived SIGKILL for killTimeout. Others may
	// hold the lock while they still run.
	Survivors bool
}

// killTimeout is how long to wait until a killed group has ended. A process that survives it hangs in the kernel or
// belongs to another user.
const killTimeout = 5 * time.Second
