package driver

import "context"

// Operator is what the tools of operators use: package admin, and through it the command. An engine embeds
// [Unsupported] and implements what it can do: ForceRelease at least. Owners never appear in an answer.
type Operator interface {
	// ForceRelease takes the lock away from the holder with this token, whoever it is, and lets the
	// next waiter in. The token makes sure that the caller ends the hold it has seen, and no later
	// one. It answers ErrNotHeld if there is no such holder.
	ForceRelease(ctx context.Context, k Key, token uint64) error

	// Record stores a removal: package admin writes one before it calls ForceRelease, and writes it again, with the
	// outcome, afterwards. It replaces one with the same ID. The engine keeps the latest MaxRemovals, by Removal.At
	// and whatever the order in which they are written, for as long as it keeps anything.
	Record(ctx context.Context, r Removal) error

	// Records returns the latest removals, newest first, and at most limit; zero means MaxRemovals.
	Records(ctx context.Context, limit int) ([]Removal, error)

	// Walk reports everything that matches the query, in the order of List. An engine has it if it has to search for
	// names (Abilities.Walk), so that listing page by page would repeat the search for each page. It ignores
	// Query.Limit and reports the progress of the search to Query.Progress.
	//
	// It calls visit, in the caller's goroutine, with one non-empty piece after the other. It
	// returns nil after the last piece, or as soon as visit returns false. A deadline is not
	// needed: the engine limits the time of each request that it sends, and reads few names in
	// each, so that it does not lock others out. It returns an error soon after ctx ends.
	//
	// Names that come or go meanwhile may be missed or reported. A name that exists all the time is
	// reported exactly once.
	Walk(ctx context.Context, q Query, visit func(piece []Status) bool) error

	// Leaks reports what was left behind and does not go away by itself, because another program has tampered with it,
	// or because no client has come by to remove it. The order does not matter. Of the query it uses Kind, Name,
	// Prefix and Progress. It changes nothing. The rules for visit, ctx, time limits and names that come and go are
	// those of Walk. Something that is in use, or that goes away by itself, is no leak.
	Leaks(ctx context.Context, q Query, visit func(Leak) bool) error

	// Sweep removes a leak that Leaks has reported, and lets the next waiter in. It answers
	// ErrNotHeld, and has changed nothing, if the leak is gone or has changed: the lease ends by
	// now, or has another holder. A caller may make up a leak: Sweep never removes anything that
	// Leaks would not report.
	Sweep(ctx context.Context, l Leak) error

	// Examine asks each server about itself, and finds what endangers the promises of the engine
	// there. It changes nothing. A server that does not answer is reported as a Server with an Err;
	// Examine returns an error only if nothing at all could be found out.
	//
	// Package admin adds the findings that concern all engines alike: silence, clocks, and times
	// compared with the TTL.
	Examine(ctx context.Context) (Examination, error)

	// Votes reports what each node says about a key, held or free, always in the same order. An engine has it if it
	// keeps each lock on several nodes, and a majority decides. A node that does not answer or refuses is reported
	// with Vote.Err and causes no error. Nothing is changed.
	Votes(ctx context.Context, k Key) ([]Vote, error)

	// GrantsClosed says why, and until when, the engine grants nothing to anybody where it keeps a key, or is nil if it
	// grants. An empty key stands for all. An engine has it if it can be closed. Nothing is changed.
	GrantsClosed(ctx context.Context, k Key) (*GrantsClosedError, error)
}

// OperatorOf returns the engine as an Operator. If it is none, the Operator answers ErrUnsupported to everything.
func OperatorOf(e Engine) Operator {
	if o, ok := e.(Operator); ok {
		return o
	}
	return Unsupported{}
}

// Unsupported is an [Operator] that answers ErrUnsupported to everything.
type Unsupported struct{}

var _ Operator = Unsupported{}

// ForceRelease implements [Operator].
func (Unsupported) ForceRelease(context.Context, Key, uint64) error { return ErrUnsupported }

// Record implements [Operator].
func (Unsupported) Record(context.Context, Removal) error { return ErrUnsupported }

// Records implements [Operator].
func (Unsupported) Records(context.Context, int) ([]Removal, error) { return nil, ErrUnsupported }

// Walk implements [Operator].
func (Unsupported) Walk(context.Context, Query, func([]Status) bool) error { return ErrUnsupported }

// Leaks implements [Operator].
func (Unsupported) Leaks(context.Context, Query, func(Leak) bool) error { return ErrUnsupported }

// Sweep implements [Operator].
func (Unsupported) Sweep(context.Context, Leak) error { return ErrUnsupported }

// Examine implements [Operator].
func (Unsupported) Examine(context.Context) (Examination, error) {
	return Examination{}, ErrUnsupported
}

// Votes implements [Operator].
func (Unsupported) Votes(context.Context, Key) ([]Vote, error) { return nil, ErrUnsupported }

// GrantsClosed implements [Operator].
func (Unsupported) GrantsClosed(context.Context, Key) (*GrantsClosedError, error) {
	return nil, ErrUnsupported
}
