package driver

import "fmt"

// Leak is something that was left behind.
type Leak struct {
	Key
	// Server names the server on an engine with several servers. It is empty on all others.
	Server string
	// Sort says what kind of leak it is.
	Sort LeakSort
	// Token is the holder's token, for an endless lease; 0 if it has none.
	Token uint64
	// Holder is the public text about the holder, for an endless lease.
	Holder string
	// Count is the number of things left behind: 1, or the number of waiters.
	Count int
	// Mark lets the engine recognize the leak. It is not meant for people, and reveals no owner.
	Mark string
}

// LeakSort is a kind of leak.
type LeakSort uint8

const (
	// EndlessLease is a lease that never ends. No engine grants one, so another program has made
	// it.
	EndlessLease LeakSort = iota + 1
	// EndlessToken is the last token of a name, kept for longer than the engine keeps tokens.
	EndlessToken
	// DeadWaiters are places in a queue whose waiters are gone.
	DeadWaiters
	// Remains is data stored beside a lease, or a latch, that has ended.
	Remains
)

// LeakSorts lists all kinds of leak.
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
