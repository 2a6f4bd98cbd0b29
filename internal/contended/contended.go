// Package contended remembers for a short while which names were found contended: somebody else held or awaited them.
// They probably still are, so an engine can join their queue at once, which saves a request.
package contended

import (
	"sync"
	"sync/atomic"
	"time"
)

// maxNames bounds the memory. If there are more names, all are forgotten, which costs one request for each that still
// is contended.
const maxNames = 4096

// Names is a set of names that forgets each after a while. Its zero value is empty. It is safe for concurrent use, and
// costs next to nothing while it is empty.
//
// It keeps the names themselves and not their hashes. So a free name is never mistaken for a contended one, which some
// engines do not even try to take.
type Names[K comparable] struct {
	count atomic.Int32 // so that looking into an empty set needs no mutex

	mu    sync.Mutex
	until map[K]time.Time // when each is forgotten
}

// Add remembers a name for a time from now on.
func (n *Names[K]) Add(name K, lifetime time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.until == nil || len(n.until) >= maxNames {
		n.until = make(map[K]time.Time)
	}
	n.until[name] = time.Now().Add(lifetime)
	n.count.Store(int32(len(n.until)))
}

// Has reports whether a name was added and its time has not passed since.
func (n *Names[K]) Has(name K) bool {
	if n.count.Load() == 0 {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	until, known := n.until[name]
	if known && !time.Now().Before(until) {
		n.removeLocked(name)
		return false
	}
	return known
}

// Remove forgets a name.
func (n *Names[K]) Remove(name K) {
	if n.count.Load() == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.removeLocked(name)
}

func (n *Names[K]) removeLocked(name K) {
	delete(n.until, name)
	n.count.Store(int32(len(n.until)))
}
