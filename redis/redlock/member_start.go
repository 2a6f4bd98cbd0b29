package redlock

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// StartTake implements driver.Starter.
func (m *member) StartTake(ctx context.Context, r driver.Request, done func(driver.Grant, error)) {
	if m.met.Load() {
		m.Engine.StartTake(ctx, r, done)
		return
	}
	go func() {
		end, _ := ctx.Deadline()
		meeting, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
		defer cancel()
		if err := m.meet(meeting); err != nil {
			done(driver.Grant{}, err)
			return
		}
		m.Engine.StartTake(ctx, r, done)
	}()
}
