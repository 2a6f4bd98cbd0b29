package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/argument"
	"github.com/leasehold-go/leasehold/internal/holdertext"
)

type (
	// Removal is the record of a lock that an operator took away from its holder, or tried to.
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

// WithOperator says who releases the lock. By default it is this process: its host, process id and program.
func WithOperator(who string) RemovalOption { return func(r *Removal) { r.By = who } }

// WithReason says why the lock is released.
func WithReason(why string) RemovalOption { return func(r *Removal) { r.Why = why } }

// WithHolderText says who held the lock: the holder text, as Inspect shows it. Others have written that text, so what
// cannot be stored is replaced.
func WithHolderText(text string) RemovalOption { return func(r *Removal) { r.Holder = text } }

// ForceRelease takes a lock away from the holder with that token, whoever that is. Call Inspect first: the token makes
// sure that it is the holder seen there. The holder finds out when it renews next, after a third of its ttl at most,
// and may write until then: only the token protects the resource from it.
//
// If the engine can, it keeps a record, which Removals returns. The record is written first: if that fails, nothing is
// taken away.
//
// ForceRelease returns leasehold.ErrLost if nobody holds the name with that token (any more), and
// leasehold.ErrUnsupported if the engine cannot do it. After leasehold.ErrUnavailable or an error of ctx the lock may
// have been taken away, or may be later: call Inspect.
func (c *Client) ForceRelease(
	ctx context.Context, kind driver.Kind, name string, token uint64, opts ...RemovalOption,
) error {
	if c.err != nil {
		return c.err
	}
	r := Removal{By: holdertext.Current().String()}
	for _, o := range opts {
		o(&r)
	}
	r.ID, r.At, r.Outcome = rand.Text(), time.Now().UTC().Truncate(time.Microsecond), driver.Asked
	r.Key, r.Token, r.Holder = driver.Key{Kind: kind, Name: name}, token, sanitize(r.Holder)
	if err := checkRemoval(r); err != nil {
		return err
	}
	a := call{"force release", r.Key}
	if _, ok := c.engine.(driver.Operator); !ok {
		return a.fail(leasehold.ErrUnsupported, nil)
	}
	if token > driver.MaxToken { // 0 is the token of a holder of another program, on engines that have such
		return a.fail(leasehold.ErrLost, nil) // nobody has it
	}
	if err := c.writeRecord(ctx, r); err != nil {
		return err
	}
	err := sendOnly(ctx, c, a, func(ctx context.Context) error { return c.operator.ForceRelease(ctx, r.Key, r.Token) })
	if r.Outcome = removalOutcome(err); r.Outcome != driver.Asked {
		// The lock is gone whether or not this is recorded, and the first record says what was intended.
		if failed := c.writeRecord(context.WithoutCancel(ctx), r); failed != nil {
			c.log.LogAttrs(ctx, slog.LevelWarn, "the outcome of a forced release was not recorded",
				slog.String("kind", r.Kind.String()), slog.String("name", r.Name), slog.Uint64("token", r.Token),
				slog.String("outcome", r.Outcome.String()), slog.Any("error", failed))
		}
	}
	return err
}

// checkRemoval returns an error if a removal is not allowed.
func checkRemoval(r Removal) error {
	switch {
	case !argument.IsText(r.Name):
		return newValueError("name", r.Name, argument.AllowedText)
	case r.Kind != driver.Lock && r.Kind != driver.Semaphore:
		return newValueError("kind", r.Kind, "driver.Lock or driver.Semaphore: nothing else has holders")
	case !argument.IsText(r.By):
		return newValueError("operator", r.By, argument.AllowedText)
	case r.Why != "" && !argument.IsText(r.Why):
		return newValueError("reason", r.Why, "left out, or "+argument.AllowedText)
	}
	return nil
}

// sanitize returns a text in a form that can be stored. Anybody may have written the text.
func sanitize(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
	return strings.ToValidUTF8(text[:min(len(text), argument.MaxText)], "")
}

// removalOutcome returns the outcome of a removal, given the error of the call.
func removalOutcome(err error) Outcome {
	switch {
	case err == nil:
		return driver.Removed
	case errors.Is(err, leasehold.ErrLost):
		return driver.Gone
	case driver.HadNoEffect(err):
		return driver.Refused
	}
	return driver.Asked
}

// writeRecord records a removal on engines that can.
func (c *Client) writeRecord(ctx context.Context, r Removal) error {
	err := sendOnly(ctx, c, call{"record a forced release", r.Key}, func(ctx context.Context) error {
		return c.operator.Record(ctx, r)
	})
	if errors.Is(err, leasehold.ErrUnsupported) {
		return nil
	}
	return err
}

// Removals returns the locks that anybody has taken away with ForceRelease, the latest first: at most limit, or all
// that are kept (1000) if limit is 0. It returns leasehold.ErrUnsupported on an engine that keeps no records.
func (c *Client) Removals(ctx context.Context, limit int) ([]Removal, error) {
	if c.err != nil {
		return nil, c.err
	}
	if limit < 0 {
		return nil, newValueError("limit", limit, "0 (for all that are kept) or more")
	}
	return send(ctx, c, call{op: "list removals"}, func(ctx context.Context) ([]Removal, error) {
		return c.operator.Records(ctx, limit)
	})
}
