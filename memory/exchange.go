package memory

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Exchange implements [driver.Exchanger]. It has no effect if ctx has ended.
func (e *Engine) Exchange(
	ctx context.Context, before driver.Release, r driver.Request,
) (g driver.Grant, released, err error) {
	if err := ctx.Err(); err != nil {
		err = driver.NoEffect(err)
		return g, err, err
	}
	released = e.Release(ctx, before)
	g, err = e.Take(ctx, r)
	return g, released, err
}
