package memory

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// StartTake implements [driver.Starter]. It calls done before it returns.
func (e *Engine) StartTake(ctx context.Context, r driver.Request, done func(driver.Grant, error)) {
	done(e.Take(ctx, r))
}

// StartRelease implements [driver.Starter]. It calls done before it returns.
func (e *Engine) StartRelease(ctx context.Context, r driver.Release, done func(error)) {
	done(e.Release(ctx, r))
}
