package driver

import (
	"context"
	"fmt"
)

// Sweeper is what an engine with the ability Leaks implements too: one on which something may be left behind that does not go away by itself,
// because another program has tampered with it, or because nobody has come by to clear it away.
type Sweeper interface {
	// Leaks tells of what was left behind, in no order. Of the query, Kind, Name, Prefix and Progress count. It changes nothing. For
	// visit, ctx, time limits and names that come and go, the rules are those of Walk. What is in use is no leak, nor what goes away by itself.
	Leaks(ctx context.Context, q Query, visit func(Leak) bool) error

	// Sweep removes a leak that Leaks has told of, and lets the next waiter in. It answers ErrNotHeld, and has changed nothing, if
	// it is not there any more, or is another one: the lock has an end by now, or another holder. A leak may be made up: Sweep never
	// removes what Leaks would not tell of.
	Sweep(ctx context.Context, l Leak) error
}

// Leak is something that was left behind.
type Leak struct {
	Key
	// Place is where, on an engine of several places, and empty on all others.
	Place string
	// Sort is what it is.
	Sort LeakSort
	// Token is the one of the holder, for an endless lease; 0 if it has none.
	Token uint64
	// Holder is the public text about the holder, for an endless lease.
	Holder string
	// Count is how many there are: 1, or the number of waiters.
	Count int
	// Mark lets the engine know it again. It is not for people, and gives no owner away.
	Mark string
}

// LeakSort is a sort of leak.
type LeakSort uint8

const (
	// EndlessLease is a lease that never ends: no engine gives one, so another program has.
	EndlessLease LeakSort = iota + 1
	// EndlessToken is the last token of a name that is kept for longer than the engine keeps tokens.
	EndlessToken
	// DeadWaiters are places in a queue whose waiters are gone.
	DeadWaiters
	// Remains is what was stored beside a lease, or a latch, that has ended.
	Remains
)

// LeakSorts are all the sorts there are.
var LeakSorts = [...]LeakSort{EndlessLease, EndlessToken, DeadWaiters, Remains}

// String returns "endless lease", "endless token", "dead waiters" or "remains".
func (s LeakSort) String() string {
	switch s {
	case EndlessLease:
		return "endless lease"
	case EndlessToken:
		return "endless token"
	case DeadWaiters:
		return "dead waiters"
	case Remains:
		return "remains"
	}
	return fmt.Sprintf("LeakSort(%d)", uint8(s))
}
