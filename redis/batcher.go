package redis

import (
	"slices"
	"sync"
	"time"
)

// batcher sends the requests of many goroutines to one server. Requests that arrive while all senders are busy go
// together in one script. So the busier a server is, the less each request costs the server and this process, and a
// request that comes alone does not wait for others.
//
// A sender whose batch is still unanswered when all of its requests are useless is given up: the outcome of the batch
// is unknown, and another sender takes over.
type batcher struct {
	engine *Engine
	pool   sync.Pool // of answered *waitedRequest

	mu             sync.Mutex
	queue          []*batchRequest
	idle           []*batchSender
	sending        int // senders that have a batch in flight and are in time
	overdue        int // senders that were given up
	direct         int // callers that send their own request
	closed         bool
	usedSinceCheck bool        // since the idle timer last ran
	idleTimer      *time.Timer // ends senders that are not needed; nil if none is idle or was a moment ago
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
	// senderIdleTime is how long an idle sender is kept.
	senderIdleTime = time.Second
)

// add queues a request, and has a sender handle it.
func (b *batcher) add(r *batchRequest) {
	b.mu.Lock()
	var failed error
	switch {
	case b.closed:
		failed = errClosed
	case b.sending == 0 && b.overdue >= maxOverdue:
		failed = errBusy
	default:
		r.queued = true
		b.queue = append(b.queue, r)
		b.startSenderLocked()
	}
	b.mu.Unlock()
	if failed != nil {
		r.finish(nil, failed)
	}
}

// startSenderLocked makes a sender take what is queued, if one more may run.
func (b *batcher) startSenderLocked() {
	if b.sending >= maxSenders || b.sending+b.overdue >= maxOverdue || len(b.queue) == 0 {
		return // the next sender that returns looks at the queue
	}
	b.sending++
	b.usedSinceCheck = true
	if last := len(b.idle) - 1; last >= 0 {
		s := b.idle[last]
		b.idle = b.idle[:last]
		s.wake <- true
		return
	}
	s := &batchSender{batcher: b, wake: make(chan bool, 1)}
	go s.loop()
}

// beginDirect reports whether the caller may send its own request, because hardly anybody else sends one. If so, the
// caller must call endDirect.
func (b *batcher) beginDirect() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sending > 0 || b.direct >= maxDirect {
		return false
	}
	b.direct++
	return true
}

func (b *batcher) endDirect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.direct--
}

// withdraw takes back a request that has not been sent yet, and reports whether it could.
func (b *batcher) withdraw(r *batchRequest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !r.queued {
		return false
	}
	i := slices.Index(b.queue, r)
	b.queue = slices.Delete(b.queue, i, i+1)
	r.queued = false
	return true
}

// close ends the senders as they return. Requests that have not been sent fail.
func (b *batcher) close() {
	b.mu.Lock()
	b.closed = true
	queue := b.drainLocked()
	b.stopIdleLocked()
	b.mu.Unlock()
	for _, r := range queue {
		r.finish(nil, errClosed)
	}
}

// drainLocked empties the queue and returns what was in it. Finish these requests without holding the mutex.
func (b *batcher) drainLocked() []*batchRequest {
	queue := b.queue
	b.queue = nil
	for _, r := range queue {
		r.queued = false
	}
	return queue
}

// stopIdleLocked ends the idle senders.
func (b *batcher) stopIdleLocked() {
	for _, s := range b.idle {
		s.wake <- false
	}
	b.idle = nil
	if b.idleTimer != nil {
		b.idleTimer.Stop()
		b.idleTimer = nil
	}
}

// onIdleTimer ends the idle senders if none was used for a while.
func (b *batcher) onIdleTimer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.idleTimer == nil: // it was stopped too late
	case b.usedSinceCheck:
		b.usedSinceCheck = false
		b.idleTimer.Reset(senderIdleTime)
	default:
		b.stopIdleLocked()
	}
}

// nextBatch takes a batch out of the queue, and with it the stale requests, which are past their deadline. If the queue
// is empty, the sender becomes idle.
func (b *batcher) nextBatch(s *batchSender) (_ *sentBatch, stale []*batchRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	var end time.Time
	s.batch = s.batch[:0]
	taken := 0
	for _, r := range b.queue {
		if len(s.batch) == maxBatch {
			break
		}
		taken++
		r.queued = false
		if !now.Before(r.deadline) {
			stale = append(stale, r)
			continue
		}
		s.batch = append(s.batch, r)
		if r.deadline.After(end) {
			end = r.deadline
		}
	}
	b.queue = slices.Delete(b.queue, 0, taken)
	switch {
	case len(s.batch) > 0:
		return newSentBatch(s, end), stale
	case len(stale) == 0:
		b.noteIdleLocked(s)
	}
	return nil, stale
}

// noteIdleLocked notes that a sender has nothing to do.
func (b *batcher) noteIdleLocked(s *batchSender) {
	b.sending--
	if b.closed {
		s.wake <- false
		return
	}
	b.idle = append(b.idle, s)
	if b.idleTimer == nil {
		b.idleTimer = time.AfterFunc(senderIdleTime, b.onIdleTimer)
	}
}

// noteOverdue notes that a sender is overdue, and starts another one. If too many are overdue, the queued requests
// fail.
func (b *batcher) noteOverdue() {
	b.mu.Lock()
	b.sending--
	b.overdue++
	b.startSenderLocked()
	var queue []*batchRequest
	if b.sending == 0 {
		queue = b.drainLocked()
	}
	b.mu.Unlock()
	for _, r := range queue {
		r.finish(nil, errBusy)
	}
}

// noteReturned notes that an overdue sender has returned.
func (b *batcher) noteReturned() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.overdue--
	b.startSenderLocked()
}
