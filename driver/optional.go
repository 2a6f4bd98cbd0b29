package driver

import (
	"context"
	"time"
)

// Downgrader is what an engine with the ability Shared implements too.
type Downgrader interface {
	// Downgrade turns an exclusive hold into a shared one, without letting go in between, and
	// lets waiting readers in. Token and lease stay. A Downgrade of a hold that is
	// shared already answers nil. It answers ErrNotHeld if the owner does not hold.
	Downgrade(ctx context.Context, h Hold) error
}

// Forcer is what an engine with the ability Force implements too.
type Forcer interface {
	// ForceRelease takes the lock away from the holder with this token, whoever it is, and
	// lets the next waiter in. The token makes sure that the caller ends the hold it
	// has looked at, and no later one. It answers ErrNotHeld if there is no such
	// holder.
	ForceRelease(ctx context.Context, k Key, token uint64) error
}

// AllTaker is what an engine with the ability All implements too.
type AllTaker interface {
	// TakeAll tries once to get several locks in one step and answers at once: all of them, or none.
	//
	// The requests are like those given to Take, of kind Lock and mode Exclusive, without Join, and each with an
	// owner of its own. They are ordered by name, and no name comes twice: the core has seen to it. The grants
	// are in the same order.
	//
	// For each name the rules are those of Take. It answers with ErrHeld, and has then changed nothing, if one
	// of the names is not to be had, or if others wait for it (where the engine is fair). An owner that holds already keeps its
	// tokens, and its lease lasts at least Request.TTL from now. If the outcome is unknown, so it is for all of the
	// owners together; the core releases each of them by itself.
	//
	// It answers with ErrApart if it can never take these names in one step. The core then takes them one
	// after the other, as it does after ErrHeld.
	TakeAll(ctx context.Context, batch []Request) ([]Grant, error)
}

// Raiser is what an engine with the ability Raise implements too: it can be one of several places that keep the same lock
// together, and must agree on a token.
type Raiser interface {
	// Raise sees to it that no token up to Token+Tokens-1 is granted for the key any more, and that
	// the grant of the owner has the token Token and that many.
	//
	// It changes nothing and answers ErrNotHeld if the owner does not hold the key, exclusively: what others hold is not to be touched by one
	// whose time is up. So it does if the owner's token is larger than Token: others may have been granted Token before.
	Raise(ctx context.Context, r Raise) error
}

// Raise is what [Raiser.Raise] is given.
type Raise struct {
	Key
	Owner string
	// Token is not zero, and Tokens at least 1. The last of them is at most MaxToken.
	Token  uint64
	Tokens int
}

// Opener is an optional interface of an engine that grants nothing for a while where leases may be missing that still run.
type Opener interface {
	// OpenNow makes all servers that can be reached grant at once, because the caller says that no lease is missing there: nothing was ever locked, or
	// all leases from before have ended. by is who says so and why, for the record; it must not be empty. It returns what the servers are called that
	// are open now, also with an error, which is about the others.
	OpenNow(ctx context.Context, by string) (opened []string, err error)
}

// NodeChanger is an optional interface of an engine that keeps each lock on a majority of several servers, and notices programs that name different ones.
type NodeChanger interface {
	// ChangeNodes says that from now on the servers of this engine are the list that counts. Programs with another list that has some of them are
	// granted nothing any more, and their leases are not renewed. It returns when the servers grant again: when the leases of before are over. If it is broken
	// off, some servers may grant nothing until it is called again.
	ChangeNodes(ctx context.Context) (opens time.Time, err error)
}

// Router is an optional interface of an engine that keeps names on several servers, each of which may be slow or silent by itself. Takes then wait for the renewals
// on the same server only.
type Router interface {
	// Route returns a number for the server that keeps a key, as far as is known without asking anybody: the same one for all keys that it keeps. Small numbers are
	// best: those that are equal modulo 64 share a queue. It is called before each take and renewal, so it must be quick. A wrong answer harms no promise.
	Route(k Key) uint32
}

// Starter is an optional interface of an engine that can be asked for something without a goroutine that waits for the answer. It is for those
// who ask several engines at the same time, and, with the ability Starts, for all callers.
type Starter interface {
	// StartTake is Take, whose outcome is given to done.
	//
	// The context must have a deadline, by which done is called, or a little later; nothing else about its end is heeded. done is called once, from
	// any goroutine, perhaps before StartTake returns. It must not block.
	StartTake(ctx context.Context, r Request, done func(Grant, error))

	// StartRelease is Release in the same way.
	StartRelease(ctx context.Context, r Release, done func(error))
}

// Voter is what an engine with the ability Votes implements too: it keeps each lock on several places, of which a majority decides.
type Voter interface {
	// Votes tells what each place says of a key, whether it is held or free, in an order that stays the same. Places that do not answer or
	// refuse are told of, too, and are no error. Nothing is changed. Owners never appear.
	Votes(ctx context.Context, k Key) ([]Vote, error)
}

// Vote is what one place says of a key.
type Vote struct {
	// Place is what the place is called, as in "10.0.0.1:6379".
	Place string
	// Holders are those who hold the key there, ordered by token. Whoever has fewer than a majority of the places holds nothing: it is about
	// to get the rest, or to let go. One that was granted the key late may have another token there.
	Holders []Holder
	// Closed is for how much longer, about, the place grants nothing to anybody, since it was restarted and may have forgotten
	// leases; 0 if it grants.
	Closed time.Duration
	// Err is why nothing is known of the place, and nil if it is. It is an ErrSilent if there was no answer in time.
	Err error
}

// Wanter is an optional interface of an engine on which a lock may be handed on
// inside a process. Where it is missing, the core limits handing on by time alone.
type Wanter interface {
	// Wanted reports whether, as far as this process knows, anybody waits for the
	// key on the engine. It answers from memory, at once.
	Wanted(k Key) bool
}

// Latcher is what an engine with the ability Latches implements too.
//
// A latch lives for TTL from the last TrySet or CountDown, also after it has
// come down to zero, and is then forgotten.
type Latcher interface {
	// TrySet sets the latch to Count if it is not set or stands at zero, and reports whether
	// it did. A TrySet with the ID of the one that set the latch answers true
	// again.
	TrySet(ctx context.Context, s LatchSet) (bool, error)

	// CountDown takes one from the count, not below zero, and answers with what is left.
	// A CountDown with an ID that the latch has already counted changes nothing. It answers
	// ErrNotSet if the latch is not set.
	CountDown(ctx context.Context, d LatchDown) (LatchState, error)

	// LatchState reads the latch. It answers ErrNotSet if the latch is not set.
	LatchState(ctx context.Context, name string) (LatchState, error)

	// WaitLatch returns nil when the latch is at zero, or is set anew (its
	// generation is no longer the one given). It answers ErrNotSet if the latch is
	// not set, or runs out while the caller waits. Like Wait, it bounds its requests
	// itself and returns promptly when ctx ends.
	WaitLatch(ctx context.Context, name string, generation uint64) error
}

// LatchSet is what [Latcher.TrySet] is given.
type LatchSet struct {
	Name string
	// ID is unique for this attempt, so that it can be repeated.
	ID string
	// Count is at least 1.
	Count int
	TTL   time.Duration
}

// LatchDown is what [Latcher.CountDown] is given.
type LatchDown struct {
	Name string
	// ID is unique for this attempt, so that it can be repeated.
	ID  string
	TTL time.Duration
}

// LatchState is what a latch stands at.
type LatchState struct {
	// Generation grows each time the latch is set.
	Generation uint64
	// Count is what is left.
	Count int
	// TTL is how long the latch will be remembered.
	TTL time.Duration
}
