package batch

import (
	"context"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/driver"
)

// Reply is where the caller of a request waits for the answer. The caller may leave before it comes. The zero value is
// ready for use, and ready again when [Batcher.Wait] has returned, unless its caller has left.
type Reply struct {
	settled  atomic.Bool   // answered, or the caller has left
	answered chan struct{} // has room for one
	answer   any
	err      error
}

// Settle answers the request. It reports false if the caller has left: nobody else gets the answer then.
func (r *Reply) Settle(answer any, err error) bool {
	if !r.settled.CompareAndSwap(false, true) {
		return false
	}
	r.answer, r.err = answer, err
	r.answered <- struct{}{}
	return true
}

// Wait adds a request and waits for the answer. When ctx ends before, it withdraws the request. The error then says
// that there was no effect: the request is never sent. If it was sent already, or is about to be, and leave is set,
// Wait leaves, and the error is [driver.Spent]. Without leave it returns the answer, however late that comes.
func (b *Batcher[R]) Wait(ctx context.Context, request R, reply *Reply, leave bool) (answer any, err error) {
	if reply.answered == nil {
		reply.answered = make(chan struct{}, 1)
	}
	b.Add(request)
	if err := b.Await(ctx, request, reply.answered); err != nil {
		if driver.HadNoEffect(err) {
			return nil, err
		}
		if leave && reply.settled.CompareAndSwap(false, true) {
			return nil, driver.Spent(err)
		}
		<-reply.answered
	}
	answer, err = reply.answer, reply.err
	reply.answer, reply.err = nil, nil
	reply.settled.Store(false)
	return answer, err
}
