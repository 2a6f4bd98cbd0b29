package detach

import (
	"context"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// Renew calls renew, which does what [driver.Engine] says of Renew but may return late, and returns when ctx ends. What
// renew reports after that is dropped. renew may go on with batch then.
func Renew(
	ctx context.Context, p *Pool, batch []driver.Renewal, report func(i int, err error),
	renew func(ctx context.Context, batch []driver.Renewal, report func(i int, err error)),
) {
	var gate sync.RWMutex // held to write when Renew returns
	left := false
	_ = Run(ctx, p, func(ctx context.Context) error {
		renew(ctx, batch, func(i int, err error) {
			gate.RLock()
			defer gate.RUnlock()
			if !left {
				report(i, err)
			}
		})
		return nil
	})
	gate.Lock()
	defer gate.Unlock()
	left = true
}
