package redis

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// batchRequest asks [batcher] to take one name that is likely to be free, or to release one.
type batchRequest struct {
	kind      requestKind
	names     names     // the scripts need the value's key and, for a take, the token's key
	value     string    // take: what to store; release: the owner
	ttlMillis int64     // ms
	floorText string    // take: the smallest token allowed
	deadline  time.Time // the request is useless after this

	// onAnswer is called once, from any goroutine, with the script's answer. It must not block.
	onAnswer func(answer any, err error)
}

// requestKind is the kind of a request. The order of the constants is the order that batch.lua expects.
type requestKind int

const (
	releaseRequest requestKind = iota
	takeRequest
)

// script returns the script that handles this request alone.
func (r *batchRequest) script() script {
	if r.kind == takeRequest {
		return scriptTakeFree
	}
	return scriptReleaseFree
}

// keys appends the request's keys to a script call.
func (r *batchRequest) keys(call scriptCall) scriptCall {
	if call = append(call, &r.names.value); r.kind == takeRequest {
		call = append(call, &r.names.token)
	}
	return call
}

// args appends the request's arguments to a script call.
func (r *batchRequest) args(call scriptCall) scriptCall {
	if call = append(call, &r.value); r.kind == takeRequest {
		call = append(call, &r.ttlMillis, &r.floorText)
	}
	return call
}

// command returns the call of the script that handles this request alone.
func (r *batchRequest) command() scriptCall {
	call := r.keys(make(scriptCall, 3, 9))
	call[2] = len(call) - 3
	return r.args(call)
}

// waitedRequest is a request whose caller waits for the answer, or has left.
type waitedRequest struct {
	batchRequest
	decided  atomic.Bool   // answered, or the caller has left
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
		if !w.decided.CompareAndSwap(false, true) {
			b.engine.releaseGrant(&w.batchRequest, answer, err)
			return
		}
		w.answer, w.err = answer, err
		w.answered <- struct{}{}
	}
	return w
}

// wait has the batcher handle a request and returns its answer, or an error when ctx ends. What a take gets after that
// is released.
func (b *batcher) wait(ctx context.Context, r *batchRequest) (any, error) {
	w := b.getWaitedRequest()
	r.onAnswer = w.onAnswer
	w.batchRequest = *r
	if end, ok := ctx.Deadline(); ok {
		w.deadline = end
	} else {
		w.deadline = time.Now().Add(maxRequestTime)
	}
	b.Add(&w.batchRequest)
	if err := b.Await(ctx, &w.batchRequest, w.answered); err != nil {
		if driver.HadNoEffect(err) {
			return nil, err
		}
		if w.decided.CompareAndSwap(false, true) {
			return nil, driver.Spent(err) // the answer may arrive at any time: w must not be used again
		}
		<-w.answered
	}
	answer, err := w.answer, w.err
	if err == nil { // after an error, the client may still read what it has not sent
		w.batchRequest, w.answer = batchRequest{onAnswer: w.onAnswer}, nil
		w.decided.Store(false)
		b.pool.Put(w)
	}
	return answer, err
}

// releaseGrant releases what r, a take whose caller has left, was granted. Otherwise the core's clean-up would do so at
// its next repetition. An engine that is one of several nodes releases nothing by itself, because its late vote may
// count by then.
func (e *Engine) releaseGrant(r *batchRequest, answer any, err error) {
	token, _ := answer.(int64)
	if r.kind != takeRequest || e.nodeList != nil || err != nil || token <= 0 {
		return
	}
	owner, _, _ := strings.Cut(r.value, "\n")
	release := &batchRequest{
		kind: releaseRequest, names: r.names, value: owner, deadline: time.Now().Add(leftTakeTimeout),
		onAnswer: func(any, error) {},
	}
	if e.router.isSingle() {
		e.batcher.Add(release)
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), release.deadline)
	defer cancel()
	_, _ = e.runDirect(ctx, *release)
}

// maxRequestTime limits a request whose context has no deadline.
const maxRequestTime = 10 * time.Second

// errBusy fails requests that were not even sent.
var errBusy = driver.NoEffect(fmt.Errorf("redis: no answer to earlier requests: %w", context.DeadlineExceeded))
