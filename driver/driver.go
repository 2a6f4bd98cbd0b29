// Package driver is the contract between leasehold and an engine, which is what keeps the locks.
// Users of locks never need this package; authors of engines need nothing else.
//
// # Who does what
//
// The core (package leasehold) owns everything that is the same on every engine: validation, owner
// secrets, deadlines, renewal, the queue inside a process, re-entry, errors for users, events. An
// engine does six things: try to take, wait for a grant, renew a batch, downgrade, release, list; what
// else it can do is in optional interfaces. It does not renew by itself, log, or decide how long a lease is
// valid.
//
// # Three outcomes
//
// Every call has one of three outcomes. Yes is a nil error. No is [ErrHeld], [ErrTooManyWaiters],
// [ErrNotHeld] or [ErrNotSet]. Everything else is unknown: the request may have taken effect, may take effect
// later, or never. An engine that is sure that a failed request had no effect says so with [NoEffect]. An
// engine that knows that another attempt is pointless says so with [Permanent]. When an engine is not sure,
// the error stays unknown, and the core makes sure that nothing is left behind. An engine that sends several
// requests for one Take, and was answered "held" before one of them failed, says so with [KnownHeld].
//
// # Owners make requests idempotent
//
// The owner names one attempt to get a lock, and later the possession of it. A Take by an owner
// that already holds extends its lease and answers with the tokens it had. A Release makes sure
// that the owner neither holds nor waits. A Renew never revives a lease that has ended. So the core
// may repeat any request whose answer was lost.
//
// # A released owner is never used again
//
// A request may be in flight for any length of time, so a release may arrive long after its caller
// gave up. One rule makes that harmless: an owner that was ever named in a release is never used in
// a take again. The rule binds the core and engines alike. An engine that releases an owner by
// itself, to undo what it cannot grant, either says so with [Spent], or goes on with an owner of
// its own and names it in [Grant.Owner].
//
// The place in a queue outlives the owner: all owners of one call have the same [Request.Place].
//
// # Testing an engine
//
// Package drivertest is the suite that every engine must pass.
package driver

import (
	"context"
	"time"
)

// Engine keeps locks. All methods are safe for concurrent use.
//
// An engine is also a [fmt.Formatter] that prints a short text for every verb. Otherwise package
// fmt would walk through the engine's fields and print owners and passwords.
//
// Each method returns soon after its context ends, whatever a server does: the core calls engines
// in the goroutines of its callers. What was sent may still take effect, so the error of a take then
// says that the outcome is unknown, or that the owner is [Spent]. If a take is granted after that to an
// owner of the engine's own, the engine releases it. Where a client library cannot be interrupted,
// run its calls in goroutines that the caller can leave. If the library at least observes deadlines,
// a call whose context is [IsDeadlineOnly] needs no such goroutine.
type Engine interface {
	// Abilities says what the engine can do. The answer never changes.
	Abilities() Abilities

	// Take tries once to get what the request asks for and answers at once.
	//
	// It answers ErrHeld if somebody else holds the name in a way that excludes the request, or if
	// others have waited for longer (where the engine is fair). With Request.Join set, a refused
	// owner has joined the queue before Take returns, so that a following Wait finds its place. If
	// the queue has no room (Request.MaxWaiters), Take answers ErrTooManyWaiters.
	//
	// A Take by an owner that already holds makes its lease last at least Request.TTL from now and
	// answers with the tokens of the first grant.
	Take(ctx context.Context, r Request) (Grant, error)

	// Wait returns when the owner has been granted what the request asks for. It follows a Take
	// with Join. If the owner has lost its place in the queue meanwhile, Wait joins again, at the
	// end. The engine itself limits the time of each request that Wait sends to a server.
	//
	// Wait sets Grant.Start. It returns ErrHeld only if the reason for waiting has changed. The error
	// says what it is now: that nothing is granted for a while after a restart, for example. The core
	// then calls Wait again. When ctx ends, Wait returns promptly and sends nothing more. It may leave
	// its place in the queue behind, or even a grant: the core calls Release next. Wait marks its
	// error with NoEffect if none of its requests is in flight any more, so that one Release is enough.
	Wait(ctx context.Context, r Request) (Grant, error)

	// Renew extends many leases. For each item it calls report once with the item's index, as soon
	// as that item's outcome is known: nil if the owner still held and its lease now lasts at least
	// TTL from some moment after the call began, ErrNotHeld if the owner does not hold, any other
	// error for unknown. An item that was not reported before Renew returns counts as unknown.
	//
	// Renew never shortens a lease, so the order in which two renewals arrive makes no difference.
	//
	// A slow or failing item, shard or node must not delay the reports of others. report may be
	// called from several goroutines. The engine must not change batch. It may keep it: the core
	// does not change it either, not even after Renew has returned.
	Renew(ctx context.Context, batch []Renewal, report func(i int, err error))

	// Downgrade turns an exclusive hold into a shared one, without releasing it in between, and
	// lets waiting readers in. Token and lease stay. A Downgrade of a hold that is shared already
	// answers nil. It answers ErrNotHeld if the owner does not hold. The core calls it only on
	// engines with the ability Shared; others answer ErrUnsupported.
	Downgrade(ctx context.Context, h Hold) error

	// Release makes sure that the owner neither holds nor waits, and touches nothing that belongs
	// to another owner. It answers nil if the owner held, and ErrNotHeld if it did not (it may have
	// waited).
	Release(ctx context.Context, r Release) error

	// List reports what is held and waited for, ordered by kind and then by name. It does not lock
	// others out meanwhile. Owners never appear in the answer.
	List(ctx context.Context, q Query) ([]Status, error)
}

// Abilities says what an engine can do, where its methods do not show it: an optional interface ([Latcher], [AllTaker],
// [Exchanger], [Wanter], [Router], [Operator]) is an ability by itself. An engine that wraps another implements all of
// them. For one that the inner engine lacks, it answers ErrUnsupported as a Latcher or Operator, ErrNotTogether as an
// AllTaker, false as a Wanter, and 0 as a Router; as an Exchanger it releases and then takes.
type Abilities struct {
	// Name is the engine's short name, as in "memory". It appears in logs.
	Name string

	// Shared: Request.Mode may be Shared.
	Shared bool

	// Semaphores: Request.Kind may be Semaphore.
	Semaphores bool

	// Waiters: Take respects Request.MaxWaiters.
	Waiters bool

	// Recalls: the engine can call Request.Recall.
	Recalls bool

	// Walk: the engine has to search for names. To list everything, call Operator.Walk.
	Walk bool

	// Fair: waiters are served in the order in which they joined, and a Take does not overtake
	// them.
	Fair bool

	// Local: Take, Renew and Release answer from the memory of this process, without I/O. The core
	// calls them directly, without a time limit.
	Local bool

	// MaxTTL is the longest lease that the engine grants. Zero means that the engine sets no limit.
	// It does not apply to latches.
	MaxTTL time.Duration

	// MaxBatch is the largest number of leases in one Renew. Zero means 512.
	MaxBatch int
}
