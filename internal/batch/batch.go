// Package batch sends the requests of many goroutines to a server together.
package batch

import (
	"context"
	"slices"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// Batcher has a few senders send requests. A request that finds a sender free is sent at once. Requests that come while
// all senders are busy go together in the next batches. So the busier a server is, the less each request costs, and
// nobody waits for a batch to fill.
//
// A sender whose batch takes too long can be given up as overdue. Another one then takes its place.
//
// Set the exported fields before the first use. All methods are safe for concurrent use.
type Batcher[R comparable] struct {
	MaxSenders int // how many senders may be busy at the same time, without those that are overdue
	MaxOverdue int // how many senders may be busy or overdue
	MaxBatch   int // how many requests go in one batch

	// Go runs a sender in a goroutine. It must not block.
	Go func(sender func())
	// Send sends a batch, and reports whether it ended in time: false if NoteOverdue is called for this batch. Then the
	// memory of requests is not used again.
	Send func(requests []R) (inTime bool)
	// Fail ends a request that was not sent, and never will be.
	Fail      func(r R, err error)
	ErrClosed error // fails requests after Close
	ErrBusy   error // fails requests while too many senders are overdue

	mu      sync.Mutex
	queue   []R // requests that have not been sent
	busy    int // senders that are in time
	overdue int // senders that were given up, and have not returned
	closed  bool
	sender  func() // send, made once
}

// Add queues a request, and has a sender send it.
func (b *Batcher[R]) Add(r R) {
	b.mu.Lock()
	var failed error
	switch {
	case b.closed:
		failed = b.ErrClosed
	case b.busy == 0 && b.overdue >= b.MaxOverdue:
		failed = b.ErrBusy
	default:
		b.queue = append(b.queue, r)
		b.startLocked()
	}
	b.mu.Unlock()
	if failed != nil {
		b.Fail(r, failed)
	}
}

// Await waits for the answer to a request that was added: it returns nil when answered is ready to receive. When ctx
// ends before, it withdraws the request. The error then says that there was no effect: the request is never sent. If it
// was sent already, or is about to be, Await returns ctx.Err(), and the answer may still arrive.
func (b *Batcher[R]) Await(ctx context.Context, r R, answered <-chan struct{}) error {
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
	}
	if b.withdraw(r) {
		return driver.NoEffect(ctx.Err())
	}
	return ctx.Err()
}

// withdraw removes a request from the queue, and reports whether it was still there.
func (b *Batcher[R]) withdraw(r R) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.queue, r)
	if i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
	}
	return i >= 0
}

// Begin makes the caller a sender if one is free. The caller then sends its own request, and calls End.
func (b *Batcher[R]) Begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || !b.mayStartLocked() {
		return false
	}
	b.busy++
	return true
}

// End ends what Begin has begun. inTime is false if NoteOverdue is called for it.
func (b *Batcher[R]) End(inTime bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if inTime {
		b.busy--
	} else {
		b.overdue--
	}
	b.startLocked()
}

// mayStartLocked reports whether one more sender may start.
func (b *Batcher[R]) mayStartLocked() bool {
	return b.busy < b.MaxSenders && b.busy+b.overdue < b.MaxOverdue
}

// startLocked starts a sender if there is something to send.
func (b *Batcher[R]) startLocked() {
	if len(b.queue) > 0 && b.mayStartLocked() {
		b.busy++
		if b.sender == nil {
			b.sender = b.send
		}
		b.Go(b.sender)
	}
}

// send is a sender. It sends batches until the queue is empty, or the sender is overdue.
func (b *Batcher[R]) send() {
	var batch []R
	for {
		if batch = b.next(batch[:0]); len(batch) == 0 {
			return
		}
		if !b.Send(batch) {
			b.End(false)
			return
		}
	}
}

// next moves a batch from the queue to the end of batch. If the queue is empty, the sender has ended.
func (b *Batcher[R]) next(batch []R) []R {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.queue), b.MaxBatch)
	if n == 0 {
		b.busy--
	}
	batch = append(batch, b.queue[:n]...)
	b.queue = slices.Delete(b.queue, 0, n)
	return batch
}

// NoteOverdue notes that a sender is overdue. Another one takes its place. If too many are overdue, the requests in the
// queue fail.
func (b *Batcher[R]) NoteOverdue() {
	b.mu.Lock()
	b.busy--
	b.overdue++
	b.startLocked()
	var queue []R
	if b.busy == 0 {
		queue, b.queue = b.queue, nil
	}
	b.mu.Unlock()
	for _, r := range queue {
		b.Fail(r, b.ErrBusy)
	}
}

// Close makes the requests fail that have not been sent, and all later ones. Batches in flight go on.
func (b *Batcher[R]) Close() {
	b.mu.Lock()
	b.closed = true
	queue := b.queue
	b.queue = nil
	b.mu.Unlock()
	for _, r := range queue {
		b.Fail(r, b.ErrClosed)
	}
}

// Load returns how many requests wait to be sent, how many senders are busy, and how many are overdue.
func (b *Batcher[R]) Load() (queued, busy, overdue int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue), b.busy, b.overdue
}
