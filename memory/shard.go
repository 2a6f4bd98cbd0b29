package memory

import (
	"sync"

	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// shardCount is the number of parts into which the names of a kind are split, so that goroutines with different names
// seldom wait for the same mutex.
const shardCount = 16

// shard is a part of the names of one kind. An entry exists while anybody holds the name or waits for it.
type shard struct {
	mu      sync.Mutex
	entries map[string]*entry

	// pruneAt is the number of entries at which expired ones are removed.
	pruneAt int

	// Unused entries and a queue, kept to be used again.
	spareEntries []*entry
	spareQueue   *queue
}

const (
	minPrune        = 64 // entries
	maxSpareEntries = 64
)

// addLocked makes an entry for a name that has none. The shard is locked.
func (s *shard) addLocked(name string, now int64) *entry {
	if len(s.entries) >= s.pruneAt {
		s.removeExpiredLocked(now)
	}
	var en *entry
	if n := len(s.spareEntries); n > 0 {
		en = s.spareEntries[n-1]
		s.spareEntries = s.spareEntries[:n-1]
	} else {
		en = &entry{}
		en.holds = en.firstHold[:0]
	}
	en.nextExpiry = never
	s.entries[name] = en
	return en
}

// removeExpiredLocked removes what holders left behind that never came back. It runs each time the number of entries
// has doubled, so its cost per entry stays the same, and expired entries never outnumber the others. The shard is
// locked.
func (s *shard) removeExpiredLocked(now int64) {
	if s.entries == nil {
		s.entries = make(map[string]*entry)
	}
	for name, en := range s.entries {
		if en.queue == nil { // while there are waiters, a timer does it
			en.removeExpired(now)
			s.removeIfEmptyLocked(name, en)
		}
	}
	s.pruneAt = max(minPrune, 2*len(s.entries))
}

// removeIfEmptyLocked removes the entry if it has neither holders nor waiters, and reports whether it did. The shard is
// locked.
func (s *shard) removeIfEmptyLocked(name string, en *entry) bool {
	if len(en.holds) > 0 || en.queue != nil {
		return false
	}
	delete(s.entries, name)
	if len(s.spareEntries) < maxSpareEntries {
		s.spareEntries = append(s.spareEntries, en)
	}
	return true
}

// joinLocked puts the owner of the request at the end of the entry's queue. The shard is locked.
func (s *shard) joinLocked(en *entry, r *quorumnode.Request, now int64) *waiter {
	if en.queue == nil {
		en.queue = s.spareQueue
		s.spareQueue = nil
		if en.queue == nil {
			en.queue = newQueue()
		}
	}
	return en.queue.push(r, now)
}
