package redlock

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// StartTake implements driver.Starter.
func (m *member) StartTake(ctx context.Context, r driver.Request, done func(driver.Grant, error)) {
	voted := func(g driver.Grant, err error) {
		if err = m.vote(ctx, err); err != nil {
			g = driver.Grant{}
		}
		done(g, err)
	}
	if m.ready() {
		m.Engine.StartTake(ctx, r, voted)
		return
	}
	go func() {
		end, _ := ctx.Deadline()
		meeting, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
		defer cancel()
		defer context.AfterFunc(m.set.life, cancel)() // nothing has been sent yet that Close must wait for
		if err := m.join(meeting); err != nil {
			done(driver.Grant{}, err)
			return
		}
		m.Engine.StartTake(ctx, r, voted)
	}()
}
