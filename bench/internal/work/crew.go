package work

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// patience is how long those get who still wait when all others have stopped. Libraries that poll take a while.
const patience = time.Second

// crew is many goroutines that want the same lock again and again, until they are dismissed.
type crew struct {
	over   atomic.Bool
	left   atomic.Int64
	cancel context.CancelFunc
	group  *errgroup.Group
	ctx    context.Context // of the members
}

// muster starts n goroutines, each of which takes turns. The first error ends them all.
func muster(ctx context.Context, n int, turn func(ctx context.Context, i int) error) *crew {
	c := &crew{}
	ctx, c.cancel = context.WithCancel(ctx)
	c.group, c.ctx = errgroup.WithContext(ctx)
	for i := range n {
		c.group.Go(func() error {
			for !c.over.Load() {
				switch err := turn(c.ctx, i); {
				case err != nil && c.over.Load() && c.ctx.Err() != nil:
					c.left.Add(1)
					return nil
				case err != nil:
					return err
				}
			}
			return nil
		})
	}
	return c
}

// dismiss lets everybody finish the present turn, and returns how many did not get to it within the limit: some libraries
// forget to wake waiters.
func (c *crew) dismiss(limit time.Duration) (left int, err error) {
	c.over.Store(true)
	timer := time.AfterFunc(limit, c.cancel)
	defer timer.Stop()
	defer c.cancel()
	err = c.group.Wait()
	return int(c.left.Load()), err
}

// pause lets d pass, unless ctx ends, as when a crew fails.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
