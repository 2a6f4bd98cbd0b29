// Package keyset is a set of keys that is empty most of the time, and is asked in each request all the same.
package keyset

import (
	"sync"
	"sync/atomic"
)

// Set is a set. Its zero value is empty. Many goroutines may use it.
type Set[K comparable] struct {
	count atomic.Int32 // so that an empty set takes no mutex

	mu   sync.Mutex
	keys map[K]struct{}
}

// Add puts a key in.
func (s *Set[K]) Add(k K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = make(map[K]struct{})
	}
	s.keys[k] = struct{}{}
	s.count.Store(int32(len(s.keys)))
}

// Has reports whether a key is in.
func (s *Set[K]) Has(k K) bool {
	if s.count.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.keys[k]
	return ok
}

// Remove takes a key out, and reports whether it was in.
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
