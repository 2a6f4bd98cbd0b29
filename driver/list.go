package driver

import "time"

// Query says what to list. The zero Query lists everything.
type Query struct {
	// Kind limits the listing to one kind; zero means all.
	Kind Kind
	// Name limits the listing to one name; empty means all.
	Name string
	// Prefix limits the listing to names that begin with it.
	Prefix string
	// After continues a listing behind this key; zero starts at the beginning.
	After Key
	// Limit is the largest number of entries to return; zero means 1000.
	Limit int
	// Queue asks for the waiters themselves, not only for their number.
	Queue bool
	// Progress, if set, is called from time to time while an engine searches for names, with the
	// number of names that it has looked through, its own and those of others. The number never
	// shrinks. Progress is called again with the same number while the engine reads the names that
	// it has found and has nothing to report yet. Calls do not overlap. List does not call it; Walk
	// calls it at least once if it has to search.
	Progress func(searched int)
}

// Status is what is known about one key.
type Status struct {
	Key
	// Holders are ordered by token. Expired holders do not appear.
	Holders []Holder
	// Waiting is the number of waiters, as far as the engine knows.
	Waiting int
	// Queue holds the waiters in the order in which they will be served, if the query
	// asked for it and the engine is fair.
	Queue []Waiter
	// Latch is set for a latch.
	Latch *LatchState
}

// Holder is one holder of a key.
type Holder struct {
	// Token is the latest token known to be in use, or the first of the grant.
	Token uint64
	Mode  Mode
	// Weight is the number of permits, 1 for a lock.
	Weight int
	// Holder is Request.Holder.
	Holder string
	// MayBeIdle: the owner was granted the name with Request.Recall, so perhaps nobody uses the lock now.
	MayBeIdle bool
	// TTL is what is left of the lease; NoTTL if it never ends (a leak).
	TTL time.Duration
	// Age is how long ago the grant was made; negative if not known.
	Age time.Duration
}

// NoTTL stands for a lease without an end. No engine grants one, but other programs may have
// damaged a key.
const NoTTL time.Duration = -1

// Waiter is one waiter of a queue.
type Waiter struct {
	Mode   Mode
	Weight int
	Holder string
	// Age is how long it has waited; negative if not known.
	Age time.Duration
}
