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
	// Removal is a lock that is taken away from its holder, and the record of it.
	Removal = driver.Removal
	// Outcome is what has become of a removal.
	Outcome = driver.Outcome
)

// The outcomes.
const (
	RemovalAsked   = driver.Asked   // it is about to be done, or nobody knows
	RemovalDone    = driver.Removed // the lock was taken away
	RemovalGone    = driver.Gone    // nobody held the lock with that token any more
	RemovalRefused = driver.Refused // it was not done, for another reason
)

// RemovalOption says more in the record of a forced release.
type RemovalOption func(*Removal)

// RemovedBy says who does it. By default it is the text of WithHolder.
func RemovedBy(who string) RemovalOption { return func(r *Removal) { r.By = who } }

// RemovedFor says what for.
func RemovedFor(reason string) RemovalOption { return func(r *Removal) { r.Why = reason } }

// RemovedFrom is the public text about the holder, as Inspect shows it. What of it cannot be kept, since others have written it, is replaced.
func RemovedFrom(holder string) RemovalOption { return func(r *Removal) { r.Holder = holder } }

// ForceRelease takes a lock away from the holder with that token, whoever it is: for operators, after
// a look with Inspect. The holder finds out with its next renewal, a third of its ttl later at
// most, and may write until then: only the token protects the resource from it.
//
// Where the engine can, a record is kept, which Removals shows. It is written first: if that fails, nothing is taken away.
//
// It returns ErrLost if nobody holds the name with that token (any more), and otherwise the errors of List or ErrUnsupported. After
// ErrUnavailable or an error of ctx the lock may have been taken away, or may be so later: look with Inspect.
func (c *Client) ForceRelease(ctx context.Context, kind Kind, name string, token uint64, opts ...RemovalOption) error {
	if c.err != nil {
		return c.err
	}
	r := Removal{By: c.holder}
	for _, o := range opts {
		o(&r)
	}
	r.ID, r.At, r.Outcome = rand.Text(), time.Now().UTC().Truncate(time.Microsecond), driver.Asked
	r.Key, r.Token, r.Holder = driver.Key{Kind: kind, Name: name}, token, repaired(r.Holder)
	switch {
	case !validText(name):
		return invalid("name", name, allowedText)
	case kind != KindLock && kind != KindSemaphore:
		return invalid("kind", kind, "KindLock or KindSemaphore: nothing else has holders")
	case !validText(r.By):
		return invalid("who does it", r.By, allowedText)
	case r.Why != "" && !validText(r.Why):
		return invalid("reason", r.Why, "left out, or "+allowedText)
	}
	f, ok := c.engine.(driver.Forcer)
	if !ok || !c.abilities.Force {
		return &Error{Op: "force release", Kind: kind, Name: name, Err: ErrUnsupported}
	}
	if token > driver.MaxToken { // 0 is that of a holder of another kind, on engines that have such
		return &Error{Op: "force release", Kind: kind, Name: name, Err: ErrLost} // nobody's
	}
	if err := c.record(ctx, r); err != nil {
		return about(err, r.Key)
	}
	_, err := clientRequest(ctx, c, "force release", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f.ForceRelease(ctx, r.Key, r.Token)
	})
	if r.Outcome = outcome(err); r.Outcome != driver.Asked {
		// The lock is gone whether or not this is written down, and the record of before says what was meant.
		if failed := c.record(context.WithoutCancel(ctx), r); failed != nil {
			c.log.write(slog.LevelWarn, "the outcome of a forced release was not recorded", "kind", r.Kind, "name", r.Name, "token", r.Token, "outcome", r.Outcome, "error", failed)
		}
	}
	return about(err, r.Key)
}

// repaired makes a text that can be kept of one that anybody may have written.
func repaired(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
	return strings.ToValidUTF8(text[:min(len(text), MaxName)], "")
}

// outcome is what has become of a removal after the engine has answered.
func outcome(err error) Outcome {
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

// record writes a removal down, on engines that can.
func (c *Client) record(ctx context.Context, r Removal) error {
	keeper, ok := c.engine.(driver.Recorder)
	if !ok || !c.abilities.Records {
		return nil
	}
	_, err := clientRequest(ctx, c, "record a forced release", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, keeper.Record(ctx, r)
	})
	return err
}

// Removals returns the latest locks that were taken away with ForceRelease, by anybody, the newest first: at most limit, or all that
// are kept (1000) if it is 0. It returns ErrUnsupported on an engine that keeps no record, and otherwise the errors of List.
func (c *Client) Removals(ctx context.Context, limit int) ([]Removal, error) {
	if c.err != nil {
		return nil, c.err
	}
	if limit < 0 {
		return nil, invalid("limit", limit, "0 (for all that are kept) or more")
	}
	keeper, ok := c.engine.(driver.Recorder)
	if !ok || !c.abilities.Records {
		return nil, &Error{Op: "list removals", Err: ErrUnsupported}
	}
	return clientRequest(ctx, c, "list removals", func(ctx context.Context) ([]Removal, error) { return keeper.Records(ctx, limit) })
}
