package virtual

import (
	"time"

	"github.com/leasehold-go/leasehold/memory"
)

// server is one that keeps locks, in one of its lives.
type server struct {
	world *World
	down  bool
	ahead time.Duration // by how much its clock has been set forward
	opens time.Duration // when it grants locks of leasehold again

	engine *memory.Engine // locks of leasehold
	locks  *memory.ManualClock
	keys   map[string]entry // all others
}

// entry is a key with a value, and when it runs out by the server's clock.
type entry struct {
	value   string
	expires time.Duration // 0: never
}

// newServer starts a server on which nothing is held.
func newServer(w *World) *server {
	clock := memory.NewManualClock(time.Unix(0, 0))
	return &server{world: w, engine: memory.New(memory.WithClock(clock)), locks: clock, keys: map[string]entry{}}
}

// pass lets time pass on its clock.
func (s *server) pass(d time.Duration) { s.locks.Advance(d) }

// now is the time on its clock.
func (s *server) now() time.Duration { return s.world.now + s.ahead }

// get returns the value of a key, and "" if there is none.
func (s *server) get(key string) string {
	e, ok := s.keys[key]
	if ok && e.expires != 0 && s.now() >= e.expires {
		delete(s.keys, key)
		return ""
	}
	return e.value
}

// set sets a key that is not there, for a while or, with 0, for ever.
func (s *server) set(key, value string, ttl time.Duration) bool {
	if s.get(key) != "" {
		return false
	}
	e := entry{value: value}
	if ttl > 0 {
		e.expires = s.now() + ttl
	}
	s.keys[key] = e
	return true
}
