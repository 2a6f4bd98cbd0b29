package redis

import "sync/atomic"

// IsBatchScript reports whether a script, given by its hash, is the one for several requests.
func (e *Engine) IsBatchScript(sha string) bool {
	e.router.mu.Lock()
	defer e.router.mu.Unlock()
	for _, s := range e.router.servers {
		if s.scripts.sha[scriptBatch] == sha {
			return true
		}
	}
	return false
}

// MaxSenders is the largest number of senders that are busy at the same time.
const MaxSenders = maxSenders

// BatcherLoad returns how many requests wait for senders, how many of these are busy, and how many are overdue.
func (e *Engine) BatcherLoad() (waiting, busy, overdue int) { return e.batcher.Load() }

// CountBatches returns the number of batches that were sent since then, even of a single request. Call it before the
// first request.
func (e *Engine) CountBatches() *atomic.Int32 {
	n, send := new(atomic.Int32), e.batcher.Send
	e.batcher.Send = func(requests []*uncontendedRequest) bool {
		n.Add(1)
		return send(requests)
	}
	return n
}
