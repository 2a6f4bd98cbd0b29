package redisson

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
)

// Renew implements [driver.Engine].
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	detach.Renew(ctx, &e.workers, batch, report, e.renew)
}

func (e *Engine) renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	for i, r := range batch {
		p, name, err := e.object(r.Key)
		if err == nil {
			err = readHeld(e.send(ctx, func(string) call { return p.renew(name, r) }))
		}
		report(i, err)
	}
}
