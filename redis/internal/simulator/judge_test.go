package simulator

import (
	"sync"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	redisengine "github.com/leasehold-go/leasehold/redis"
)

// judge watches one name: who is in, and whether tokens grow.
type judge struct {
	w    *world
	name string

	mu        sync.Mutex
	in        map[*stay]bool
	tokens    map[uint64]bool
	highest   uint64 // token of all that were granted
	exclusive uint64 // highest token of an exclusive grant
}

// stay is the time during which somebody relies on a lease.
type stay struct {
	judge  *judge
	who    string
	lease  *leasehold.Lease
	shared bool
}

func slotOf(name string) int { return redisserver.Slot(redisengine.DefaultPrefix + name) }

// exposed is the highest token that anybody has seen so far.
func (j *judge) exposed() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.highest
}

// enter judges a grant at the moment at which its caller hears of it. before is the highest token that was seen before the caller asked.
func (j *judge) enter(who string, lease *leasehold.Lease, shared bool, before uint64) *stay {
	w, token := j.w, lease.Token()
	w.printf("%s: granted %s %d, shared: %v", who, j.name, token, shared)
	w.count(&w.counts.grants)
	w.mu.Lock()
	close(w.granted)
	w.granted = make(chan struct{})
	w.mu.Unlock()
	if w.chance("let go", slotOf(j.name)).IntN(2) == 0 {
		w.letGo(slotOf(j.name))
	}
	s := &stay{judge: j, who: who, lease: lease, shared: shared}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case token == 0 || token > driver.MaxToken:
		w.broken("%s: token %d of %s is out of range", who, token, j.name)
	case j.tokens[token]:
		w.broken("%s: token %d of %s was given before", who, token, j.name)
	case token <= before:
		w.broken("%s: token %d of %s is not above %d, which was seen before it was asked for", who, token, j.name, before)
	case !shared && token <= j.highest:
		w.broken("%s: token %d of %s comes after %d", who, token, j.name, j.highest)
	case token <= j.exclusive:
		w.broken("%s: token %d of %s comes after %d of a writer", who, token, j.name, j.exclusive)
	}
	j.tokens[token] = true
	j.highest = max(j.highest, token)
	if !shared {
		j.exclusive = max(j.exclusive, token)
	}
	j.in[s] = true
	for o := range j.in {
		if o != s && !(o.shared && s.shared) && !o.over() && !s.over() {
			w.broken("%s (token %d) and %s (token %d) both hold %s", who, token, o.who, o.lease.Token(), j.name)
		}
	}
	return s
}

func (s *stay) over() bool {
	return !time.Now().Before(s.lease.Deadline()) || s.lease.Context().Err() != nil
}

// leave ends a stay. The caller leaves before it releases.
func (s *stay) leave() {
	s.judge.mu.Lock()
	defer s.judge.mu.Unlock()
	delete(s.judge.in, s)
}
