package postgres

import (
	"sync"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/driver"
)

// Wanted implements [driver.Wanter]. It is also true of a name that is held by this process and was guarded: what is done in a transaction
// that guards a lease must be over before another holds it, also if that one is in this process.
func (e *Engine) Wanted(k driver.Key) bool {
	return e.wanted.has(k) || e.guarded.has(k.Name) || e.waiters.want(k)
}

// wanted are the names that are held by this process and others waited for when they were granted.
type wanted struct {
	count atomic.Int32 // so that most requests need no mutex

	mu   sync.Mutex
	keys map[driver.Key]struct{}
}

func (w *wanted) add(k driver.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = make(map[driver.Key]struct{})
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

func (w *wanted) remove(k driver.Key) {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.keys, k)
	w.count.Store(int32(len(w.keys)))
}
