package redis

import (
	"sync"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/driver"
)

// wanted are the names that are held by this process and for which others waited when they were granted.
type wanted struct {
	count atomic.Int32

	mu   sync.Mutex
	keys map[driver.Key]struct{}
}

func (w *wanted) add(k driver.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[driver.Key]struct{}{}
	}
	w.keys[k] = struct{}{}
	w.count.Store(int32(len(w.keys)))
}

func (w *wanted) has(k driver.Key) bool {
	if w.count.Load() == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.keys[k]
	return ok
}

// remove reports whether the key was among them.
func (w *wanted) remove(k driver.Key) bool {
	if w.count.Load() == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.keys[k]
	delete(w.keys, k)
	w.count.Store(int32(len(w.keys)))
	return ok
}
