package leasehold

import (
	"context"
	"fmt"
	"time"
)

// An observer hears of events. It implements one or more of the interfaces below; the client
// finds out which. Its methods are called at the moment of the event, by the goroutine that
// caused it: they must be quick, must not call the client, and may be called by
// many goroutines at once.

// About is what all events tell.
type About struct {
	Kind Kind
	Name string
	// Label is the class of the lock, see Label. Count by this, not by Name.
	Label string
	// Shared is set for read locks.
	Shared bool
}

// GrantObserver hears of each lease that is granted. Re-entry is no grant.
type GrantObserver interface{ ObserveGrant(Granted) }

// Granted is the event of a GrantObserver.
type Granted struct {
	About
	// Context is that of the call, or comes from it, for what it carries, as a trace. It may end at any time.
	Context context.Context
	// Token tells the leases of one name apart: events of the same lease have the same one.
	Token uint64
	// Waited is the time from the call to the grant.
	Waited time.Duration
	// HandedOver is set if the lease came from another holder in this process,
	// without a request to the engine.
	HandedOver bool
	// AfterWait is set if the call was told to a WaitObserver. It does not wait any more.
	AfterWait bool
}

// WaitObserver hears of each call that begins to wait: for others of this process, or for the engine, or first for the one and then for the
// other, which are two events. The end of the wait is an event with AfterWait set, Granted or Failed, whatever comes of it. So the calls that wait now are
// the events without Again, less those with AfterWait. Waiting for a latch is not observed.
type WaitObserver interface{ ObserveWait(Waiting) }

// Waiting is the event of a WaitObserver.
type Waiting struct {
	About
	// Context is that of the call, as in Granted.
	Context context.Context
	// Local is set for a call that waits for others of this process, and has not asked the engine yet.
	Local bool
	// Again is set if the call was waiting before, for others of this process, and now waits for the engine.
	Again bool
	// Reason says more than that somebody else holds the name or was there before, or is nil: that an engine grants
	// nothing for a while after a failover, for example. A call that gives up has it as the cause of its error.
	Reason error
}

// FailObserver hears of each call that asked for a lease and got none.
type FailObserver interface{ ObserveFail(Failed) }

// Failed is the event of a FailObserver.
type Failed struct {
	About
	// Context is that of the call, as in Granted.
	Context context.Context
	// Err is what the caller is told: ErrHeld, ErrTimeout, ErrUnavailable, or an
	// error of its context.
	Err    error
	Waited time.Duration
	// AfterWait is set if the call was told to a WaitObserver. It does not wait any more.
	AfterWait bool
}

// RenewObserver hears of each attempt to renew a lease.
type RenewObserver interface{ ObserveRenew(Renewed) }

// Renewed is the event of a RenewObserver.
type Renewed struct {
	About
	Token uint64
	// Err is nil for success, ErrLost if the engine said no, ErrUnavailable if it did not
	// answer; the lease is then tried again until its deadline.
	Err error
	// Slack is how much of the lease was left at that moment, before the renewal counted.
	Slack time.Duration
}

// DangerObserver hears of each lease that could not be renewed until only a third of it is
// left. It is told once, until a renewal succeeds.
type DangerObserver interface{ ObserveDanger(InDanger) }

// InDanger is the event of a DangerObserver.
type InDanger struct {
	About
	Token uint64
	// Left is the time until the lease is lost.
	Left time.Duration
}

// LostObserver hears of each lease that ends without having been released.
type LostObserver interface{ ObserveLost(Lost) }

// Lost is the event of a LostObserver.
type Lost struct {
	About
	Token uint64
	// Cause is ErrLost or ErrMaxHold.
	Cause error
	// How says how it was lost, in a word to count by.
	How Loss
	// Reason says the same as How, in a sentence for people.
	Reason string
	// Held is how long the lease was held.
	Held time.Duration
}

// ReleaseObserver hears of each lease that is released, by its holder or by Client.Close. Where a holder has
// re-entered, the last release counts.
type ReleaseObserver interface{ ObserveRelease(Released) }

// Released is the event of a ReleaseObserver.
type Released struct {
	About
	Token uint64
	// Held is how long the lease was held.
	Held time.Duration
	// Err is what Release returned: nil, ErrLost or ErrUnknown.
	Err error
}

// WithObserver adds observers. Each must implement at least one of the observer
// interfaces of this package.
func WithObserver(observers ...any) ClientOption {
	return func(c *Client) {
		for _, o := range observers {
			if !c.observers.add(o) {
				c.defaults.refuse("observer", fmt.Sprintf("%T", o), "an implementation of GrantObserver or another observer interface")
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

func (o *observers) add(observer any) bool {
	before := o.count()
	o.grant = appendIf(o.grant, observer)
	o.wait = appendIf(o.wait, observer)
	o.fail = appendIf(o.fail, observer)
	o.renew = appendIf(o.renew, observer)
	o.danger = appendIf(o.danger, observer)
	o.lost = appendIf(o.lost, observer)
	o.release = appendIf(o.release, observer)
	return o.count() > before
}

func (o *observers) count() int {
	return len(o.grant) + len(o.wait) + len(o.fail) + len(o.renew) + len(o.danger) + len(o.lost) + len(o.release)
}

func appendIf[T any](to []T, observer any) []T {
	if o, ok := observer.(T); ok {
		return append(to, o)
	}
	return to
}
