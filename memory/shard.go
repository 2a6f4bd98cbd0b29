package memory

import (
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// shardCount is in how many parts the names of a kind are kept, so that goroutines with
// different names seldom meet.
const shardCount = 16

// shard is a part of the names of one kind. An entry exists while somebody holds
// or waits.
type shard struct {
	mu      sync.Mutex
	entries map[string]*entry

	// sweepAt is the number of entries at which lapsed ones are looked for.
	sweepAt int

	// What is no longer used is kept for the next who needs it.
	spareEntries []*entry
	spareQueue   *queue
}

const (
	leastSweep      = 64 // entries
	maxSpareEntries = 64
)

// add makes an entry for a name that has none.
func (s *shard) add(name string, now int64) *entry {
	if len(s.entries) >= s.sweepAt {
		s.sweep(now)
	}
	var en *entry
	if n := len(s.spareEntries); n > 0 {
		en = s.spareEntries[n-1]
		s.spareEntries = s.spareEntries[:n-1]
	} else {
		en = &entry{}
		en.holds = en.room[:0]
	}
	en.soonest = never
	s.entries[name] = en
	return en
}

// sweep drops what holders left behind that never came back. It runs each time
// the number of entries has doubled, so that its cost per entry stays the same
// and lapsed entries are at most as many as the others.
func (s *shard) sweep(now int64) {
	if s.entries == nil {
		s.entries = make(map[string]*entry)
	}
	for name, en := range s.entries {
		if en.queue == nil { // where somebody waits a timer sees to it
			en.expire(now)
			s.tidy(name, en)
		}
	}
	s.sweepAt = max(leastSweep, 2*len(s.entries))
}

// tidy removes the entry if nobody holds or waits, and reports whether it did.
func (s *shard) tidy(name string, en *entry) bool {
	if len(en.holds) > 0 || en.queue != nil {
		return false
	}
	delete(s.entries, name)
	if len(s.spareEntries) < maxSpareEntries {
		s.spareEntries = append(s.spareEntries, en)
	}
	return true
}

// join puts the owner of the request at the end of the entry's queue.
func (s *shard) join(en *entry, r *driver.Request, now int64) *waiter {
	if en.queue == nil {
		en.queue = s.spareQueue
		s.spareQueue = nil
		if en.queue == nil {
			en.queue = newQueue()
		}
	}
	return en.queue.push(r, now)
}
