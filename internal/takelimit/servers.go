package takelimit

import (
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Servers has a Limit for each server, as far as the engine tells servers apart. A server that is frozen answers
// neither renewals nor takes; that must not slow down takes on the other servers.
type Servers struct {
	route     func(driver.Key) uint32 // nil if there is one limit for all servers
	single    Limit
	perServer *[maxServers]Limit
	process   process
}

// maxServers is the number of limits. Servers beyond that share them.
const maxServers = 64

// process is what all limits of a client have in common.
type process struct {
	origin    time.Time
	lateUntil atomic.Int64 // the process is late with its renewals until then, for all servers
}

func (p *process) now() time.Duration { return time.Since(p.origin) }

// Init makes the limits. route returns a number for the server of a key; nil means that there is one server.
func (s *Servers) Init(route func(driver.Key) uint32) {
	s.process.origin = time.Now()
	s.single.process = &s.process
	if route == nil {
		return
	}
	s.route, s.perServer = route, new([maxServers]Limit)
	for i := range s.perServer {
		s.perServer[i].process = &s.process
	}
}

// For returns the limit for the server of a key.
func (s *Servers) For(k driver.Key) *Limit {
	if s.route == nil {
		return &s.single
	}
	return &s.perServer[s.route(k)%maxServers]
}

// NoteProcessLate notes that this process was late to send renewals, and counts it as late for a time.
func (s *Servers) NoteProcessLate(d time.Duration) {
	until := int64(s.process.now() + d)
	for {
		before := s.process.lateUntil.Load()
		if until <= before || s.process.lateUntil.CompareAndSwap(before, until) {
			return
		}
	}
}
