package drivertest

import (
	"context"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// Renew implements [driver.Engine]. The plan is asked for the fault of each item. Items without a
// fault are sent together. Each other item is sent alone, so that none delays another. A lost item
// is not reported.
func (f *Faulty) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	var together []driver.Renewal
	var index []int // positions in batch of the items of together
	var alone sync.WaitGroup
	for i, item := range batch {
		fault := f.fault(ctx, Renew, item.Key, item.Owner)
		if fault == (Fault{}) {
			together = append(together, item)
			index = append(index, i)
			continue
		}
		alone.Go(func() {
			if known, err := f.renewAlone(ctx, fault, item); known {
				report(i, err)
			}
		})
	}
	if len(together) > 0 {
		f.inner.Renew(ctx, together, func(i int, err error) { report(index[i], err) })
	}
	alone.Wait()
}

// renewAlone renews one item through a fault, and reports whether its outcome became known.
func (f *Faulty) renewAlone(ctx context.Context, fault Fault, item driver.Renewal) (known bool, err error) {
	answered, err := through(ctx, f, fault, func(ctx context.Context) (answered bool, err error) {
		f.inner.Renew(ctx, []driver.Renewal{item}, func(_ int, outcome error) { answered, err = true, outcome })
		return answered, err
	})
	return answered || err == ErrFault, err
}
