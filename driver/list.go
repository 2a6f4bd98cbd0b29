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
	// Limit is the most entries to return; zero means 1000.
	Limit int
	// Queue asks for the waiters themselves, not only for their number.
	Queue bool
	// Progress, if it is set, is called now and then while an engine searches for names, with how many it has looked through so far,
	// its own and those of others: never less than before. It is called again, with as many, while the engine looks at names that it has found and there is nothing
	// to tell. It is called from one goroutine at a time. List does not call it; Walk does, once at least, if it has to search.
	Progress func(searched int)
}

// Status is what is known of one key.
type Status struct {
	Key
	// Holders are ordered by token. Expired ones do not appear.
	Holders []Holder
	// Waiting is how many wait, as far as the engine knows.
	Waiting int
	// Queue holds the waiters in the order in which they will be served, if the query
	// asked for it and the engine is fair.
	Queue []Waiter
	// Latch is set for a latch.
	Latch *LatchState
}

// Holder is one who holds.
type Holder struct {
	// Token is the latest token known to be in use, or the first of the grant.
	Token uint64
	Mode  Mode
	// Weight is the number of permits, 1 for a lock.
	Weight int
	// Holder is the text of the request.
	Holder string
	// TTL is what is left of the lease; NoTTL for one that never ends (a leak).
	TTL time.Duration
	// Age is how long ago the grant was made; negative if not known.
	Age time.Duration
}

// NoTTL stands for a lease without an end: no engine gives one, but a key may
// have been damaged by others.
const NoTTL time.Duration = -1

// Waiter is one who waits.
type Waiter struct {
	Mode   Mode
	Weight int
	Holder string
	// Age is how long it has waited; negative if not known.
	Age time.Duration
}
