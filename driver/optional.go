package driver

import (
	"context"
	"time"
)

// AllTaker is implemented by an engine that can take several locks in one step.
type AllTaker interface {
	// TakeAll tries once to get several locks in one step and answers at once: all of them, or
	// none.
	//
	// The requests are like those given to Take, of kind Lock and mode Exclusive, without Join,
	// each with an owner of its own. The core has ordered them by name and made sure that no name
	// comes twice. The grants are in the same order.
	//
	// For each name the rules are those of Take. TakeAll answers ErrHeld, and has changed nothing,
	// if one of the names is held, or if others wait for it (where the engine is fair). An owner
	// that holds already keeps its tokens, and its lease lasts at least Request.TTL from now. If
	// the outcome is unknown, it is unknown for all of the owners; the core releases each of them.
	//
	// TakeAll answers ErrNotTogether if it can never take these names in one step. The core then takes
	// them one after the other, as it does after ErrHeld.
	TakeAll(ctx context.Context, batch []Request) ([]Grant, error)
}

// Router is implemented by an engine that keeps names on several servers, each of which may be slow
// or silent by itself. Takes then wait only for the renewals on the same server.
type Router interface {
	// Route returns a number for the server that keeps a key, as far as is known without a request:
	// the same number for all keys of that server. Small numbers are best, because numbers that are
	// equal modulo 64 share a take limiter. Route is called before each take and renewal, so it must be
	// quick. A wrong answer breaks no promise.
	Route(k Key) uint32
}

// Wanter is implemented by an engine on which a lock may be handed over inside a process. Without
// it, the core limits such hand-overs by time alone.
type Wanter interface {
	// Wanted reports whether, as far as this process knows, anybody waits for the key on the
	// engine. It answers from memory, at once.
	Wanted(k Key) bool
}

// Latcher is implemented by an engine with latches.
//
// A latch lives for TTL after the last TrySet or CountDown, even if its count is zero, and is then
// forgotten. One that was set for 24 h, the longest TTL, an engine may keep until its count is zero.
type Latcher interface {
	// TrySet sets the latch to Count if it is not set or its count is zero, and reports whether it
	// did. A TrySet with the ID that set the latch answers true again.
	TrySet(ctx context.Context, s LatchSet) (bool, error)

	// CountDown takes one from the count, not below zero, and answers with what is left. A
	// CountDown with an ID that the latch has counted already changes nothing. It answers ErrNotSet
	// if the latch is not set.
	CountDown(ctx context.Context, d LatchDown) (LatchState, error)

	// LatchState reads the latch. It answers ErrNotSet if the latch is not set.
	LatchState(ctx context.Context, name string) (LatchState, error)

	// WaitLatch returns nil when the count is zero, or when the latch is set anew (its generation
	// is no longer the given one). It answers ErrNotSet if the latch is not set, or expires while
	// the caller waits. Like Wait, it limits the time of its requests itself and returns promptly
	// when ctx ends.
	WaitLatch(ctx context.Context, name string, generation uint64) error
}

// LatchSet is what [Latcher.TrySet] is given.
type LatchSet struct {
	Name string
	// ID is unique for this attempt, so the request can be repeated.
	ID string
	// Count is at least 1.
	Count int
	TTL   time.Duration
}

// LatchDown is what [Latcher.CountDown] is given.
type LatchDown struct {
	Name string
	// ID is unique for this attempt, so the request can be repeated.
	ID  string
	TTL time.Duration
}

// LatchState is the state of a latch.
type LatchState struct {
	// Generation grows each time the latch is set.
	Generation uint64
	// Count is what is left.
	Count int
	// TTL is how much longer the latch is remembered.
	TTL time.Duration
}
