package admin

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Vote is the state of a name on one node, on engines that keep each lock on several.
type Vote = driver.Vote

// ErrSilent is the Err of a Vote or a Server that has not answered in time.
var ErrSilent = driver.ErrSilent

// Votes returns the state of one name on each node, on engines where a majority of nodes decides: who holds the name
// there, for how much longer the node grants nothing, and whether it answers. It asks all nodes, so it takes as long as
// the slowest one. Inspect returns what the majority says. Votes returns leasehold.ErrUnsupported on other engines.
func (c *Client) Votes(ctx context.Context, kind driver.Kind, name string) ([]Vote, error) {
	if c.err != nil {
		return nil, c.err
	}
	key, err := newKey(kind, name)
	if err != nil {
		return nil, err
	}
	return send(ctx, c, call{"votes", key},
		func(ctx context.Context) ([]Vote, error) { return c.operator.Votes(ctx, key) })
}
