//go:build unix

// Package supervise keeps a process group inside its lease: when the lease ends, the
// group has ended before.
package supervise

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Lease is what is asked of a lease.
type Lease interface {
	Context() context.Context
	// Deadline moves forward with each renewal.
	Deadline() time.Time
}

// ErrNotRenewed: the deadline came near without a renewal, and the group had to be
// ended before it.
var ErrNotRenewed = errors.New("not renewed in time")

// ErrMaxHold: the program has had the time of Plan.MaxHold. The lease is good, and is kept
// until the group has ended.
var ErrMaxHold = errors.New("held for the longest time allowed")

// Policy says what happens to the group when the lease is lost.
type Policy int

const (
	// Term sends SIGTERM, and SIGKILL after Plan.KillAfter or shortly before the
	// deadline, whichever comes first.
	Term Policy = iota
	// Kill sends SIGKILL at once, and at the latest shortly before the deadline.
	Kill
	// Warn leaves the group alone.
	Warn
)

// Plan says what to do about a lost lease.
type Plan struct {
	Policy Policy
	// KillAfter is how long the group has between SIGTERM and SIGKILL. A third
	// of TTL is the most: renewals that fail at first need the rest.
	KillAfter time.Duration
	TTL       time.Duration
	// MaxHold is how long the program may run before the group is told to end. Zero
	// is no limit. It counts from the call of Watch, and not while the machine sleeps.
	MaxHold time.Duration
	// Lost is called once, when the lease is found lost or MaxHold has passed, before the group is ended.
	Lost func(cause error)
}

// grace is how long before the latest SIGKILL the group is told to end.
func (p Plan) grace() time.Duration {
	if p.Policy != Term {
		return 0
	}
	return max(0, min(p.KillAfter, p.TTL/3))
}

// margin is how long before the deadline the latest SIGKILL is sent: the time that a
// loaded machine may need until the processes are gone.
func (p Plan) margin() time.Duration { return min(p.TTL/10, 500*time.Millisecond) }

// Outcome is how it ended.
type Outcome struct {
	// Status is that of the program. It means nothing if Left is set.
	Status unix.WaitStatus
	// Lost is why the group was ended before the program had, or why the lease was, or nil.
	Lost error
	// Left is set if the lease was lost and processes of the group survived SIGKILL
	// for longer than patience: others hold the lock while they may still run.
	Left bool
}

// patience is how long to wait for a killed group to be gone. A process that
// does not die by then hangs in the kernel, or belongs to another user.
const patience = 5 * time.Second
