package localqueue

// Held reports whether the caller that has the turn of k knows that k is held.
func (q *Queue[K, W, V]) Held(k K) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	kq := q.queues[k]
	return kq != nil && kq.held
}
