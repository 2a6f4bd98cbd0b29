package admin

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// GrantsClosed says why, and until when, the engine grants nothing to anybody where it keeps a name, since it may have
// forgotten leases that still run. It is nil if grants are open, and on engines that never close them. An empty name
// stands for all. While grants are closed, a name that nobody holds is not free: Inspect cannot know of leases that the
// engine has forgotten.
func (c *Client) GrantsClosed(
	ctx context.Context, kind driver.Kind, name string,
) (*leasehold.GrantsClosedError, error) {
	if c.err != nil {
		return nil, c.err
	}
	var key driver.Key
	if name != "" {
		var err error
		if key, err = newKey(kind, name); err != nil {
			return nil, err
		}
	}
	closed, err := send(ctx, c, call{"grants closed", key},
		func(ctx context.Context) (*driver.GrantsClosedError, error) { return c.operator.GrantsClosed(ctx, key) })
	if errors.Is(err, leasehold.ErrUnsupported) {
		return nil, nil
	}
	return closed, err
}
