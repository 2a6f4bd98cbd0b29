// Package driver is the contract between leasehold and an engine: the place
// where locks are kept. Users of locks never need it; writers of engines need
// nothing else.
//
// # Who does what
//
// The core (package leasehold) owns everything that is the same on every
// engine: validation, owner secrets, deadlines, renewal, the queue inside a
// process, re-entry, errors for users, events. An engine does five things and
// nothing more: try to take, wait for a grant, renew a batch, release, list.
// It does not retry, log, or decide how long a lease is good for.
//
// # Three outcomes
//
// Every call has three outcomes. Yes is a nil error. No is [ErrHeld] or
// [ErrNotHeld]. Everything else is unknown: the request may have taken effect,
// may take effect later, or never. An engine that is sure that a failed request
// had no effect says so with [NoEffect], and one that knows that trying again is
// pointless says so with [Permanent]. When in doubt, an error stays unknown: the
// core then makes sure that nothing is left behind.
//
// # Owners make requests idempotent
//
// The owner names one attempt to get a lock, and later the possession of it. A
// Take by an owner that already holds extends its lease and answers with the
// tokens it had. A Release makes sure that the owner neither holds nor waits. A
// Renew never brings back what is gone. So the core may repeat any request whose
// answer was lost.
//
// # A released owner is never used again
//
// A request may be under way for any length of time, so a release may arrive long
// after it was given up. One rule makes that harmless: an owner that was ever named
// in a release is never used in a take again. It binds the core and engines alike. An
// engine that releases an owner by itself, to undo what it cannot grant, says so with
// [Spent], or goes on with an owner of its own and names it in [Grant.Owner].
//
// What survives an owner is its place in a queue: all owners of one call have the same
// [Request.Place].
//
// # Testing an engine
//
// Package drivertest holds the one suite that every engine passes.
package driver

import (
	"context"
	"time"
)

// Engine is a place where locks are kept. All methods may be called from many
// goroutines at the same time.
//
// It is a [fmt.Formatter] as well, by which every verb prints a short text: package fmt would go through all that is inside, to owners and passwords.
//
// Each method but Wait must return soon after ctx ends. The core does not rely
// on it: unless [Abilities.Local] is set it abandons a call that overstays, and
// undoes what the call may still do.
type Engine interface {
	// Abilities says what the engine can do. The answer never changes.
	Abilities() Abilities

	// Take tries once to get what the request asks for and answers at once.
	//
	// It answers with ErrHeld if somebody else holds the name in a way that
	// excludes the request, or if others have waited for longer (where the engine
	// is fair). With Request.Join set, a refused owner has joined the queue
	// before Take returns, so that a following Wait finds its place. If there is no
	// room in the queue (Request.Waiters), it answers with ErrCrowded.
	//
	// A Take by an owner that already holds makes its lease last at least
	// Request.TTL from now and answers with the tokens of the first grant.
	Take(ctx context.Context, r Request) (Grant, error)

	// Wait returns when the owner has been granted what the request asks for. It
	// follows a Take with Join; if the owner's place in the queue is gone
	// meanwhile, Wait joins again, at the end. Each request that Wait sends to a
	// server is bounded by the engine itself.
	//
	// Wait sets Grant.Start. It never returns ErrHeld. When ctx ends, it returns
	// promptly, sends nothing more, and may leave its place in the queue, or even
	// a grant, behind: the core follows with Release. If no request of it is under
	// way any more, so that one Release is enough, it marks its error with NoEffect.
	Wait(ctx context.Context, r Request) (Grant, error)

	// Renew extends many leases. For each item it calls report with the item's
	// index once, as soon as that item's outcome is known: nil if the owner still
	// held and its lease now lasts at least TTL from some moment after the call
	// began, ErrNotHeld if the owner does not hold, any other error for unknown. An
	// item never reported before Renew returns counts as unknown.
	//
	// Renew never shortens a lease, so that the order in which two renewals arrive
	// makes no difference.
	//
	// One slow or failing item, shard or node must not delay the reports of
	// others. report may be called from several goroutines. The engine must not
	// keep batch after it returns.
	Renew(ctx context.Context, batch []Renewal, report func(i int, err error))

	// Release makes sure that the owner neither holds nor waits, and touches
	// nothing of anybody else's. It answers nil if the owner held, and ErrNotHeld
	// if it did not (it may have waited).
	Release(ctx context.Context, r Release) error

	// List reports what is held and waited for, ordered by kind and then by
	// name, without locking others out while it looks. Owners never appear in it.
	List(ctx context.Context, q Query) ([]Status, error)
}

// Abilities says what an engine can do, as data, so that an engine that wraps
// another passes the truth on. Optional interfaces ([Downgrader], [Latcher],
// [Forcer], [AllTaker], [Raiser], [Voter], [Walker], [Sweeper], [Recorder], [Examiner])
// are called only where the matching field is set.
type Abilities struct {
	// Name is the engine's short name, as in "memory". It appears in logs.
	Name string

	// Shared: Request.Mode may be Shared, and the engine is a Downgrader.
	Shared bool

	// Semaphores: Request.Kind may be Semaphore.
	Semaphores bool

	// Latches: the engine is a Latcher.
	Latches bool

	// Force: the engine is a Forcer.
	Force bool

	// All: the engine is an AllTaker.
	All bool

	// Raise: Take heeds Request.Floor, and the engine is a Raiser.
	Raise bool

	// Waiters: Take heeds Request.Waiters.
	Waiters bool

	// Votes: the engine is a Voter.
	Votes bool

	// Walk: the engine is a Walker.
	Walk bool

	// Leaks: the engine is a Sweeper.
	Leaks bool

	// Records: the engine is a Recorder.
	Records bool

	// Examine: the engine is an Examiner.
	Examine bool

	// Fair: waiters are served in the order in which they joined, and a Take does
	// not overtake them.
	Fair bool

	// Local: Take, Renew and Release answer from this process's memory without
	// input or output. The core then calls them in place, without a time limit.
	Local bool

	// Prompt: all methods return as soon as ctx ends, whatever a server does. What they have sent may still take effect. The
	// core then calls them in place, with a time limit in ctx.
	Prompt bool

	// Bounded: all methods return soon after the deadline of ctx, but may not notice that it is cancelled before. The core then calls them in
	// place for callers who cannot cancel.
	Bounded bool

	// Starts: the engine is a Starter, and StartTake costs less than a goroutine that waits for Take. The core then asks so for callers who may
	// cancel, where it is not Prompt.
	Starts bool

	// MaxTTL is the longest lease that the engine gives. Zero means no limit of
	// its own. It does not concern latches.
	MaxTTL time.Duration

	// MaxBatch is the most leases that one Renew may carry. Zero means 512.
	MaxBatch int
}
