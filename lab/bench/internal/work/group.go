package work

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// patience is how long waiters may take to get their last turn when all others have stopped.
// Libraries that poll take a while.
const patience = time.Second

// workerGroup is a group of goroutines that want the same lock again and again, until stop.
type workerGroup struct {
	over       atomic.Bool
	unfinished atomic.Int64
	cancel     context.CancelFunc
	group      *errgroup.Group
	ctx        context.Context // of the goroutines
}

// startWorkers starts n goroutines, each of which calls turn again and again. The first error ends
// them all.
func startWorkers(ctx context.Context, n int, turn func(ctx context.Context, i int) error) *workerGroup {
	c := &workerGroup{}
	ctx, c.cancel = context.WithCancel(ctx)
	c.group, c.ctx = errgroup.WithContext(ctx)
	for i := range n {
		c.group.Go(func() error {
			for !c.over.Load() {
				switch err := turn(c.ctx, i); {
				case err != nil && c.over.Load() && c.ctx.Err() != nil:
					c.unfinished.Add(1)
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

// stop lets all goroutines finish their present turn, and returns how many did not get it within
// the limit: some libraries forget to wake waiters.
func (c *workerGroup) stop(limit time.Duration) (left int, err error) {
	c.over.Store(true)
	timer := time.AfterFunc(limit, c.cancel)
	defer timer.Stop()
	defer c.cancel()
	err = c.group.Wait()
	return int(c.unfinished.Load()), err
}

// pause waits for d, unless ctx ends, as it does when a goroutine fails.
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
