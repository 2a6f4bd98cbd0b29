package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/batch"
)

// waitedRequest is a request whose caller waits for the answer, or has left.
type waitedRequest struct {
	uncontendedRequest
	reply batch.Reply
}

func (b *batcher) newWaitedRequest() any {
	w := new(waitedRequest)
	w.onAnswer = func(answer any, err error) {
		if !w.reply.Settle(answer, err) {
			b.engine.releaseGrant(&w.uncontendedRequest, answer, err)
		}
	}
	return w
}

// wait has the batcher handle a request and returns its answer, or an error when ctx ends. What a take gets after that
// is released.
func (b *batcher) wait(ctx context.Context, r *uncontendedRequest) (any, error) {
	w := b.pool.Get().(*waitedRequest)
	r.onAnswer, r.deadline = w.onAnswer, requestDeadline(ctx)
	w.uncontendedRequest = *r
	answer, err := b.Wait(ctx, &w.uncontendedRequest, &w.reply, true)
	if err == nil { // after an error, the client may still read what it has not sent
		w.uncontendedRequest = uncontendedRequest{onAnswer: w.onAnswer}
		b.pool.Put(w)
	}
	return answer, err
}

// maxRequestTime limits a request whose context has no deadline.
const maxRequestTime = 10 * time.Second

// requestDeadline returns when a request of a batch is useless to its caller.
func requestDeadline(ctx context.Context) time.Time {
	if end, ok := ctx.Deadline(); ok {
		return end
	}
	return time.Now().Add(maxRequestTime)
}

// errBusy fails requests that were not even sent.
var errBusy = driver.NoEffect(fmt.Errorf("redis: no answer to earlier requests: %w", context.DeadlineExceeded))
