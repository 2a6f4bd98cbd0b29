package redis

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/batch"
)

// batcher sends the requests of many goroutines to one server, several in one script.
//
// A sender whose batch is still unanswered when all of its requests are useless is given up: the outcome of the batch
// is unknown, and another sender takes over.
type batcher struct {
	batch.Batcher[*batchRequest]
	engine *Engine
	pool   sync.Pool    // of answered *waitedRequest
	calls  sync.Pool    // of *scriptCall, whose memory may be used again
	direct atomic.Int32 // callers that send their own request
}

const (
	// maxSenders is how many senders are busy at the same time: while the server handles the batch of one, the other
	// prepares the next.
	maxSenders = 2
	// maxOverdue is how many senders may be overdue before no new ones are started.
	maxOverdue = 16
	// maxBatch is how many requests go in one batch. The server does nothing else while it handles them.
	maxBatch = 64
	// maxDirect is how many callers may send their own requests at the same time, while no sender is busy.
	maxDirect = 2
)

func (b *batcher) init(e *Engine) {
	b.engine = e
	b.calls.New = func() any { return new(scriptCall) }
	b.Batcher = batch.Batcher[*batchRequest]{
		MaxSenders: maxSenders,
		MaxOverdue: maxOverdue,
		MaxBatch:   maxBatch,
		Go:         e.workers.Go,
		Send:       b.send,
		Fail:       func(r *batchRequest, err error) { r.finish(nil, err) },
		ErrClosed:  errClosed,
		ErrBusy:    errBusy,
	}
}

// beginDirect reports whether the caller may send its own request, because hardly anybody else sends one. If so, the
// caller must call endDirect.
func (b *batcher) beginDirect() bool {
	if _, busy, _ := b.Load(); busy > 0 {
		return false
	}
	if b.direct.Add(1) <= maxDirect {
		return true
	}
	b.endDirect()
	return false
}

func (b *batcher) endDirect() { b.direct.Add(-1) }

// send sends those requests of a batch that are not past their deadlines. It reports false if they were given up.
func (b *batcher) send(requests []*batchRequest) bool {
	now := time.Now()
	var end time.Time
	requests = slices.DeleteFunc(requests, func(r *batchRequest) bool {
		if !now.Before(r.deadline) {
			r.finish(nil, driver.NoEffect(context.DeadlineExceeded))
			return true
		}
		if r.deadline.After(end) {
			end = r.deadline
		}
		return false
	})
	if len(requests) == 0 {
		return true
	}
	// The releases come first. Sort before the timer runs: after that, giveUp may read the batch at any time.
	slices.SortStableFunc(requests, func(x, y *batchRequest) int { return cmp.Compare(x.kind, y.kind) })
	s := &sentBatch{
		Context: context.Background(), batcher: b, requests: requests, deadline: end, done: make(chan struct{}),
	}
	s.timer = time.AfterFunc(end.Sub(now), s.giveUp)
	return s.run()
}
