package redis

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// waitedRequest is a request whose caller waits for the answer, or has left.
type waitedRequest struct {
	uncontendedRequest
	settled  atomic.Bool   // answered, or the caller has left
	answered chan struct{} // has room for one
	answer   any
	err      error
}

// getWaitedRequest returns a new request, or an answered one that can be used again.
func (b *batcher) getWaitedRequest() *waitedRequest {
	if w, ok := b.pool.Get().(*waitedRequest); ok {
		return w
	}
	w := &waitedRequest{answered: make(chan struct{}, 1)}
	w.onAnswer = func(answer any, err error) {
		if !w.settled.CompareAndSwap(false, true) {
			b.engine.releaseGrant(&w.uncontendedRequest, answer, err)
			return
		}
		w.answer, w.err = answer, err
		w.answered <- struct{}{}
	}
	return w
}

// wait has the batcher handle a request and returns its answer, or an error when ctx ends. What a take gets after that
// is released.
func (b *batcher) wait(ctx context.Context, r *uncontendedRequest) (any, error) {
	w := b.getWaitedRequest()
	r.onAnswer = w.onAnswer
	w.uncontendedRequest = *r
	if end, ok := ctx.Deadline(); ok {
		w.deadline = end
	} else {
		w.deadline = time.Now().Add(maxRequestTime)
	}
	b.Add(&w.uncontendedRequest)
	if err := b.Await(ctx, &w.uncontendedRequest, w.answered); err != nil {
		if driver.HadNoEffect(err) {
			return nil, err
		}
		if w.settled.CompareAndSwap(false, true) {
			return nil, driver.Spent(err) // the answer may arrive at any time: w must not be used again
		}
		<-w.answered
	}
	answer, err := w.answer, w.err
	if err == nil { // after an error, the client may still read what it has not sent
		w.uncontendedRequest, w.answer = uncontendedRequest{onAnswer: w.onAnswer}, nil
		w.settled.Store(false)
		b.pool.Put(w)
	}
	return answer, err
}

// maxRequestTime limits a request whose context has no deadline.
const maxRequestTime = 10 * time.Second

// errBusy fails requests that were not even sent.
var errBusy = driver.NoEffect(fmt.Errorf("redis: no answer to earlier requests: %w", context.DeadlineExceeded))
