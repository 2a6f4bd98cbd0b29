package leasehold

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

type (
	// Removal is a lock that an operator takes away from its holder, and the record of it.
	Removal = driver.Removal
	// Outcome is the outcome of a removal.
	Outcome = driver.Outcome
)

// The outcomes of removals.
const (
	RemovalAsked   = driver.Asked   // the removal is about to be done, or its outcome is unknown
	RemovalDone    = driver.Removed // the lock was taken away
	RemovalGone    = driver.Gone    // nobody held the lock with that token any more
	RemovalRefused = driver.Refused // it was not done, for another reason
)

// RemovalOption adds to the record of a forced release.
type RemovalOption func(*Removal)

// RemovedBy says who releases the lock. By default it is the text of WithHolder.
func RemovedBy(who string) RemovalOption { return func(r *Removal) { r.By = who } }

// RemovedFor says why the lock is released.
func RemovedFor(reason string) RemovalOption { return func(r *Removal) { r.Why = reason } }

// RemovedFrom is the holder text, as Inspect shows it. Others have written it, so what cannot be stored is replaced.
func RemovedFrom(holder string) RemovalOption { return func(r *Removal) { r.Holder = holder } }

// ForceRelease takes a lock away from the holder with that token, whoever that is. It is for operators, after Inspect.
// The holder finds out when it renews next, after a third of its ttl at most, and may write until then: only the token
// protects the resource from it.
//
// If the engine can, it keeps a record, which Removals returns. The record is written first: if that fails, nothing is
// taken away.
//
// ForceRelease returns ErrLost if nobody holds the name with that token (any more), and otherwise the errors of List or
// ErrUnsupported. After ErrUnavailable or an error of ctx the lock may have been taken away, or may be later: call
// Inspect.
func (c *Client) ForceRelease(ctx context.Context, kind Kind, name string, token uint64, opts ...RemovalOption) error {
	if c.err != nil {
		return c.err
	}
	r := Removal{By: c.holder}
	for _, o := range opts {
		o(&r)
	}
	r.ID, r.At, r.Outcome = rand.Text(), time.Now().UTC().Truncate(time.Microsecond), driver.Asked
	r.Key, r.Token, r.Holder = driver.Key{Kind: kind, Name: name}, token, sanitized(r.Holder)
	switch {
	case !validText(name):
		return newValueError("name", name, allowedText)
	case kind != KindLock && kind != KindSemaphore:
		return newValueError("kind", kind, "KindLock or KindSemaphore: nothing else has holders")
	case !validText(r.By):
		return newValueError("who does it", r.By, allowedText)
	case r.Why != "" && !validText(r.Why):
		return newValueError("reason", r.Why, "left out, or "+allowedText)
	}
	f, ok := c.engine.(driver.Forcer)
	if !ok || !c.abilities.Force {
		return &Error{Op: "force release", Kind: kind, Name: name, Err: ErrUnsupported}
	}
	if token > driver.MaxToken { // 0 is the token of a holder of another program, on engines that have such
		return &Error{Op: "force release", Kind: kind, Name: name, Err: ErrLost} // nobody has it
	}
	if err := c.writeRecord(ctx, r); err != nil {
		return withKey(err, r.Key)
	}
	_, err := clientRequest(ctx, c, "force release", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f.ForceRelease(ctx, r.Key, r.Token)
	})
	if r.Outcome = removalOutcome(err); r.Outcome != driver.Asked {
		// The lock is gone whether or not this is recorded, and the first record says what was intended.
		if failed := c.writeRecord(context.WithoutCancel(ctx), r); failed != nil {
			c.log.write(slog.LevelWarn, "the outcome of a forced release was not recorded", "kind", r.Kind,
				"name", r.Name, "token", r.Token, "outcome", r.Outcome, "error", failed)
		}
	}
	return withKey(err, r.Key)
}

// sanitized makes a text that can be stored of one that anybody may have written.
func sanitized(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
	return strings.ToValidUTF8(text[:min(len(text), MaxName)], "")
}

// removalOutcome returns the outcome of a removal, given the engine's answer.
func removalOutcome(err error) Outcome {
	switch {
	case err == nil:
		return driver.Removed
	case errors.Is(err, ErrLost):
		return driver.Gone
	case driver.HadNoEffect(err):
		return driver.Refused
	}
	return driver.Asked
}

// writeRecord records a removal on engines that can.
func (c *Client) writeRecord(ctx context.Context, r Removal) error {
	keeper, ok := c.engine.(driver.Recorder)
	if !ok || !c.abilities.Records {
		return nil
	}
	_, err := clientRequest(ctx, c, "record a forced release", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, keeper.Record(ctx, r)
	})
	return err
}

// Removals returns the locks that anybody has taken away with ForceRelease, the latest first: at most limit, or all
// that are kept (1000) if limit is 0. It returns ErrUnsupported on an engine that keeps no records, and otherwise the
// errors of List.
func (c *Client) Removals(ctx context.Context, limit int) ([]Removal, error) {
	if c.err != nil {
		return nil, c.err
	}
	if limit < 0 {
		return nil, newValueError("limit", limit, "0 (for all that are kept) or more")
	}
	keeper, ok := c.engine.(driver.Recorder)
	if !ok || !c.abilities.Records {
		return nil, &Error{Op: "list removals", Err: ErrUnsupported}
	}
	return clientRequest(ctx, c, "list removals", func(ctx context.Context) ([]Removal, error) {
		return keeper.Records(ctx, limit)
	})
}
