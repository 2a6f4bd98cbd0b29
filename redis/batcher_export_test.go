package redis

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

// BatcherLoad returns how many senders are busy, and how many requests wait for them.
func (e *Engine) BatcherLoad() (busy, waiting int) {
	e.batcher.mu.Lock()
	defer e.batcher.mu.Unlock()
	return e.batcher.sending, len(e.batcher.queue)
}

// BatcherUsed reports whether any sender was used in the last second or two.
func (e *Engine) BatcherUsed() bool {
	e.batcher.mu.Lock()
	defer e.batcher.mu.Unlock()
	return e.batcher.usedSinceCheck || e.batcher.idleTimer != nil
}

// OverdueSenders is the number of senders that are overdue.
func (e *Engine) OverdueSenders() int {
	e.batcher.mu.Lock()
	defer e.batcher.mu.Unlock()
	return e.batcher.overdue
}
