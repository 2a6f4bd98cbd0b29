// Package keyset has a set of keys that is usually empty, and is read by every request.
package keyset

import (
	"sync"
	"sync/atomic"
)

// Set is a set of keys. Its zero value is empty. It is safe for concurrent use.
type Set[K comparable] struct {
	count atomic.Int32 // so that reading an empty set needs no mutex

	mu   sync.Mutex
	keys map[K]struct{}
}

// Add adds a key.
func (s *Set[K]) Add(k K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = make(map[K]struct{})
	}
	s.keys[k] = struct{}{}
	s.count.Store(int32(len(s.keys)))
}

// Has reports whether a key is in the set.
func (s *Set[K]) Has(k K) bool {
	if s.count.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.keys[k]
	return ok
}

// Remove removes a key, and reports whether it was in the set.
func (s *Set[K]) Remove(k K) bool {
	if s.count.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.keys[k]
	delete(s.keys, k)
	s.count.Store(int32(len(s.keys)))
	return ok
}
