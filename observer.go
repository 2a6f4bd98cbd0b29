package leasehold

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// An observer is told of events. It implements one or more of the interfaces below; the client finds out which. Its
// methods are called at the moment of the event, by the goroutine that caused it: they must be quick, must not call the
// client, and must be safe for concurrent use.

// About is what all events have in common.
type About struct {
	// Kind and Name are those of the lock.
	Kind driver.Kind
	Name string
	// Label is the class of the lock, see the option Label. Use it in metrics instead of Name.
	Label string
	// Shared is set for read locks.
	Shared bool
}

// GrantObserver is told of each lease that is granted. Re-entry is no grant.
type GrantObserver interface{ ObserveGrant(Granted) }

// Granted is the event of a GrantObserver.
type Granted struct {
	About
	// Context is that of the call, or derived from it: use it for its values, such as a trace. It may end at any time.
	Context context.Context
	// Token tells the leases of one name apart: events of the same lease have the same token.
	Token uint64
	// Waited is the time from the call to the grant.
	Waited time.Duration
	// HandedOver is set if the lease was handed over by another holder in this process, or was idle ([Linger]): no
	// request was sent.
	HandedOver bool
	// AfterWait is set if a WaitObserver was told that the call waits. It no longer does.
	AfterWait bool
}

// WaitObserver is told of each call that begins to wait: for others of this process, for the engine, or first for one
// and then for the other, which are two events. It is told again if the reason of the wait changes. The wait ends with
// an event that has AfterWait set, Granted or Failed. So the number of calls that wait now is the number of events
// without Again, less that of events with AfterWait. Waiting for a latch is not observed.
type WaitObserver interface{ ObserveWait(Waiting) }

// Waiting is the event of a WaitObserver.
type Waiting struct {
	About
	// Context is that of the call, as in Granted.
	Context context.Context
	// Local is set for a call that waits for others of this process, and has not asked the engine yet.
	Local bool
	// Again is set if the call was already waiting: for others of this process before it asked the engine, or for
	// another reason.
	Again bool
	// Reason is set if the engine says more than that somebody else holds the name or waits for it, for example that it
	// grants nothing for a while after a failover. If the call gives up, Reason is the cause of its error.
	Reason error
}

// FailObserver is told of each call that asked for a lease and got none.
type FailObserver interface{ ObserveFail(Failed) }

// Failed is the event of a FailObserver.
type Failed struct {
	About
	// Context is that of the call, as in Granted.
	Context context.Context
	// Err is what the call returned: ErrHeld, ErrTimeout, ErrUnavailable, or an error of its context, for example.
	Err error
	// Waited is the time from the call to its end.
	Waited time.Duration
	// AfterWait is set if a WaitObserver was told that the call waits. It no longer does.
	AfterWait bool
}

// RenewObserver is told of each attempt to renew a lease.
type RenewObserver interface{ ObserveRenew(Renewed) }

// Renewed is the event of a RenewObserver.
type Renewed struct {
	About
	// Token is that of the lease.
	Token uint64
	// Err is nil for success, ErrLost if the engine refused, and ErrUnavailable if it did not answer. After
	// ErrUnavailable the lease is renewed again until its deadline.
	Err error
	// Slack is how much of the lease was left before this renewal.
	Slack time.Duration
}

// DangerObserver is told of each lease that could not be renewed until only a third of it was left. It is told once,
// and again only after a renewal has succeeded in between.
type DangerObserver interface{ ObserveDanger(InDanger) }

// InDanger is the event of a DangerObserver.
type InDanger struct {
	About
	// Token is that of the lease.
	Token uint64
	// Left is the time until the lease is lost.
	Left time.Duration
}

// LostObserver is told of each lease that ends without having been released.
type LostObserver interface{ ObserveLost(Lost) }

// Lost is the event of a LostObserver.
type Lost struct {
	About
	// Token is that of the lease.
	Token uint64
	// Cause is ErrLost or ErrMaxHold.
	Cause error
	// How is the way in which the lease was lost, for use in metrics.
	How Loss
	// Reason is the same as How, as a sentence for people.
	Reason string
	// Held is how long the lease was held.
	Held time.Duration
}

// ReleaseObserver is told of each lease that is released, by its holder or by Client.Close. If the holder has entered
// the lock again, the last release counts.
type ReleaseObserver interface{ ObserveRelease(Released) }

// Released is the event of a ReleaseObserver.
type Released struct {
	About
	// Token is that of the lease.
	Token uint64
	// Held is how long the lease was held.
	Held time.Duration
	// Err is what Release returned: nil, ErrLost or ErrUnknown.
	Err error
}

// WithObserver adds observers. Each must implement at least one of the observer interfaces of this package.
func WithObserver(observers ...any) ClientOption {
	return func(c *Client) {
		for _, o := range observers {
			if !c.observers.add(o) {
				c.defaults.refuse("observer", fmt.Sprintf("%T", o),
					"an implementation of GrantObserver or another observer interface")
			}
		}
	}
}

type observers struct {
	grant   []GrantObserver
	wait    []WaitObserver
	fail    []FailObserver
	renew   []RenewObserver
	danger  []DangerObserver
	lost    []LostObserver
	release []ReleaseObserver
}

// add adds an observer, and reports false if it implements none of the interfaces.
func (o *observers) add(observer any) bool {
	return slices.Contains([]bool{
		addTo(&o.grant, observer), addTo(&o.wait, observer), addTo(&o.fail, observer), addTo(&o.renew, observer),
		addTo(&o.danger, observer), addTo(&o.lost, observer), addTo(&o.release, observer),
	}, true)
}

func addTo[T any](list *[]T, observer any) bool {
	o, ok := observer.(T)
	if ok {
		*list = append(*list, o)
	}
	return ok
}

// Loss is how a lease was lost.
type Loss uint8

// The ways to lose a lease.
const (
	// LossRefused: the engine said that the lease is no longer held. It was released by force, has expired there, or
	// the engine has forgotten it.
	LossRefused Loss = iota + 1
	// LossDeadline: no renewal was confirmed before the deadline. The engine did not answer, or the process or its
	// machine was stopped.
	LossDeadline
	// LossDropped: all leases were dropped without Release, and so were not renewed. That is a bug in the program.
	LossDropped
	// LossNotRenewed: the lease has ended as NoRenew says.
	LossNotRenewed
	// LossMaxHold: the lease was held for as long as MaxHold allows.
	LossMaxHold
)

// losses has a word and a sentence for each Loss.
var losses = [...]struct{ word, reason string }{
	LossRefused:    {"refused", "the engine says that it is not held any more"},
	LossDeadline:   {"deadline", "the engine did not confirm a renewal before the deadline"},
	LossDropped:    {"dropped", "all leases were dropped without release"},
	LossNotRenewed: {"not_renewed", "the lease has ended and is not renewed"},
	LossMaxHold:    {"max_hold", "held for the longest time allowed"},
}

// String returns one word for each way: refused, deadline, dropped, not_renewed or max_hold.
func (l Loss) String() string {
	if l < LossRefused || l > LossMaxHold {
		return "unknown"
	}
	return losses[l].word
}

// cause returns the cause of the lease's context.
func (l Loss) cause() error {
	if l == LossMaxHold {
		return ErrMaxHold
	}
	return ErrLost
}
