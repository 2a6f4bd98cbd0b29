package leasehold

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Vote is what one place says of a name, where an engine keeps each lock on several.
type Vote = driver.Vote

// ErrSilent is the Err of a Vote of a place that has not answered in time.
var ErrSilent = driver.ErrSilent

// Votes tells what each of several places says of one name, on engines of which a majority of places decides: who holds it there, for how
// long a place does not vote, and which one does not answer. It asks all of them, so a place that is silent takes its time. Inspect says what
// it comes to. Votes returns ErrUnsupported where all is kept in one place, and otherwise the errors of List.
func (c *Client) Votes(ctx context.Context, kind Kind, name string) ([]Vote, error) {
	if c.err != nil {
		return nil, c.err
	}
	if !validText(name) {
		return nil, invalid("name", name, allowedText)
	}
	if kind < KindLock || kind > KindLatch {
		return nil, invalid("kind", kind, "KindLock, KindSemaphore or KindLatch")
	}
	v, ok := c.engine.(driver.Voter)
	if !ok || !c.abilities.Votes {
		return nil, &Error{Op: "votes", Kind: kind, Name: name, Err: ErrUnsupported}
	}
	all, err := clientRequest(ctx, c, "votes", func(ctx context.Context) ([]Vote, error) {
		return v.Votes(ctx, driver.Key{Kind: kind, Name: name})
	})
	return all, about(err, driver.Key{Kind: kind, Name: name})
}
