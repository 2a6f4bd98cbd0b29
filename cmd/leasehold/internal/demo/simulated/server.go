package simulated

import (
	"time"

	"github.com/leasehold-go/leasehold/memory"
)

// server is a server from one start to the next.
type server struct {
	env         *Environment
	down        bool
	ahead       time.Duration // by how much its clock was set forward
	closedUntil time.Duration // when it grants locks of leasehold again

	engine    *memory.Engine // keeps the locks of leasehold
	lockClock *memory.ManualClock
	keys      map[string]entry // all other locks
}

// entry is a key's value, and when it expires by the server's clock.
type entry struct {
	value   string
	expires time.Duration // 0: never
}

// newServer returns a server on which nothing is held.
func newServer(w *Environment) *server {
	clock := memory.NewManualClock(time.Unix(0, 0))
	return &server{env: w, engine: memory.New(memory.WithClock(clock)), lockClock: clock, keys: map[string]entry{}}
}

// advance advances its clock.
func (s *server) advance(d time.Duration) { s.lockClock.Advance(d) }

// now returns the time on its clock.
func (s *server) now() time.Duration { return s.env.now + s.ahead }

// get returns the value of a key, or "" if there is none.
func (s *server) get(key string) string {
	e, ok := s.keys[key]
	if ok && e.expires != 0 && s.now() >= e.expires {
		delete(s.keys, key)
		return ""
	}
	return e.value
}

// set sets a key that does not exist. With a ttl of 0 it never expires.
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
