package leasehold

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Vote is the state of a name on one node, on engines that keep each lock on several.
type Vote = driver.Vote

// ErrSilent is the Err of a Vote of a node that has not answered in time.
var ErrSilent = driver.ErrSilent

// Votes returns the state of one name on each node, on engines where a majority of nodes decides: who holds the name
// there, how long the node has no vote, and whether it answers. It asks all nodes, so it takes as long as the slowest
// one. Inspect returns what the votes result in. Votes returns ErrUnsupported on other engines, and otherwise the
// errors of List.
func (c *Client) Votes(ctx context.Context, kind Kind, name string) ([]Vote, error) {
	if c.err != nil {
		return nil, c.err
	}
	if !validText(name) {
		return nil, newValueError("name", name, allowedText)
	}
	if kind < KindLock || kind > KindLatch {
		return nil, newValueError("kind", kind, "KindLock, KindSemaphore or KindLatch")
	}
	v, ok := c.engine.(driver.Voter)
	if !ok || !c.abilities.Votes {
		return nil, &Error{Op: "votes", Kind: kind, Name: name, Err: ErrUnsupported}
	}
	all, err := clientRequest(ctx, c, "votes", func(ctx context.Context) ([]Vote, error) {
		return v.Votes(ctx, driver.Key{Kind: kind, Name: name})
	})
	return all, withKey(err, driver.Key{Kind: kind, Name: name})
}
