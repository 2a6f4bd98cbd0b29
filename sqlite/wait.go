package sqlite

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

// wait is Wait in the goroutine of a worker.
func (e *Engine) wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.MaxWaiters = true, 0
	for {
		grant, seq, err := e.enqueue(ctx, r)
		if ctx.Err() != nil {
			// Not marked as without effect: a place or a grant may be left.
			return driver.Grant{}, ctx.Err()
		}
		if err != nil || seq == 0 {
			return grant, err
		}
		if a := e.await(ctx, &caller{id: seq, request: r}); !a.gone {
			return a.grant, a.err
		}
	}
}

// enqueue finds the place that a Take with Join has got. If it is gone, it takes again. It returns a place or a grant.
func (e *Engine) enqueue(ctx context.Context, r driver.Request) (grant driver.Grant, seq int64, err error) {
	err = e.read(ctx, func(v *view) (err error) {
		seq, err = v.seqOf(r.Key, r.Owner)
		return err
	})
	if err != nil || seq != 0 {
		return grant, seq, err
	}
	grant, seq, err = e.take(ctx, r)
	if errors.Is(err, driver.ErrHeld) {
		err = nil
	}
	return grant, seq, err
}

// await has the watcher wait, and returns its answer.
func (e *Engine) await(ctx context.Context, c *caller) answer {
	c.answer = make(chan answer, 1)
	if !e.watcher.add(c) {
		return answer{err: e.noEffectError(errClosed)}
	}
	defer e.watcher.remove(c)
	select {
	case a := <-c.answer:
		return a
	case <-ctx.Done():
		return answer{err: ctx.Err()}
	case <-e.ctx.Done():
		return answer{err: e.noEffectError(errClosed)}
	}
}

// caller is a call of Wait or WaitLatch.
type caller struct {
	id         int64          // the place in the queue; for a latch a number that the watcher has given
	request    driver.Request // for a latch only the key
	generation uint64         // of a latch
	answer     chan answer    // has room for one
}

type answer struct {
	grant driver.Grant
	err   error
	gone  bool // the place in the queue is gone
}
