package leasehold

import (
	"context"
	"log/slog"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// afterUnlock is what a function that has changed a hold leaves to be done without hold.mu: what may block, or calls
// observers or contexts. Its caller unlocks hold.mu and then calls run. The zero value does nothing.
//
// It is a struct rather than a function, because releases are frequent and a struct needs no allocation.
type afterUnlock struct {
	hold     *hold
	ends     []*contextEnd // contexts to cancel with cause
	cause    error
	request  driver.Release
	op       string // what the request is for; empty if none is sent
	silent   bool   // the engine is known not to answer: no request is sent, and its outcome is unknown
	outcome  error  // of the request, if it was answered
	answered bool   // the request was sent along with another
	endTurn  bool   // end the turn of the local queue, after the request: before, others would ask in vain
	dropped  bool   // log that all leases were dropped
	err      error  // what run returns, if no request is sent

	// Events; nil if there is none.
	danger   *InDanger
	lost     *Lost
	released *Released
}

// The values of afterUnlock.op.
const (
	opRelease = "release"
	opCleanUp = "clean up"
)

// run does what is left to do, and returns the outcome of a release.
func (r *afterUnlock) run() error { return r.runUntil(context.Background()) }

// runUntil is run, but does not wait for the engine after ctx has ended. The outcome of the release is unknown then.
func (r *afterUnlock) runUntil(ctx context.Context) error {
	for _, e := range r.ends {
		e.cancel(r.cause)
	}
	if r.op != "" {
		r.err = r.send(ctx)
	}
	if r.endTurn {
		r.hold.lock.client.queue.EndTurn(r.hold.lock.key)
	}
	if r.dropped || r.danger != nil || r.lost != nil {
		r.tell()
	}
	if r.released != nil {
		r.released.Err = r.err
		for _, o := range r.hold.lock.client.observers.release {
			o.ObserveRelease(*r.released)
		}
	}
	return r.err
}

// send asks the engine to release the hold.
func (r *afterUnlock) send(ctx context.Context) error {
	l := r.hold.lock
	if r.endTurn {
		l.client.queue.SetHeld(l.key, false) // a try of this process waits for the outcome: the name may become free
	}
	err := timelimit.ErrNoAnswer
	switch {
	case r.answered:
		err = r.outcome
		r.hold.noteReleased(err)
	case !r.silent:
		err = r.hold.releaseOrCleanUp(ctx, r.request)
	}
	switch {
	case err == nil, driver.IsNo(err) && r.op == opCleanUp:
		return nil
	case driver.IsNo(err):
		return l.newError(r.op, ErrLost, nil)
	default:
		return l.newError(r.op, ErrUnknown, err)
	}
}

// tell logs and observes what has gone wrong with the lease.
func (r *afterUnlock) tell() {
	c := r.hold.lock.client
	kind, name := r.hold.lock.key.Kind.String(), r.hold.lock.key.Name
	if r.dropped {
		c.log.Write(slog.LevelError, "lease dropped without Release: it is no longer renewed; call Release, or use Do",
			"kind", kind, "name", name)
	}
	warns := c.log.Enabled(slog.LevelWarn)
	if e := r.danger; e != nil {
		if warns {
			c.log.Write(slog.LevelWarn, "lease in danger: the engine does not confirm its renewal",
				"kind", kind, "name", name, "token", e.Token, "left", e.Left)
		}
		for _, o := range c.observers.danger {
			o.ObserveDanger(*e)
		}
	}
	if e := r.lost; e != nil {
		if warns {
			c.log.Write(slog.LevelWarn, "lease lost", "kind", kind, "name", name, "token", e.Token,
				"cause", e.Cause.Error(), "reason", e.Reason, "held", e.Held)
		}
		for _, o := range c.observers.lost {
			o.ObserveLost(*e)
		}
	}
}
