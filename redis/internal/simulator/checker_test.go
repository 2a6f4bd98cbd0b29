package simulator

import (
	"sync"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	redisengine "github.com/leasehold-go/leasehold/redis"
)

// checker checks one name: that holders do not overlap, and that tokens grow.
type checker struct {
	simulation *simulation
	name       string

	mu          sync.Mutex
	possessions map[*possession]bool
	tokens      map[uint64]bool
	highest     uint64 // the largest token granted
	exclusive   uint64 // the largest token of an exclusive grant
}

// possession is the time during which somebody relies on a lease.
type possession struct {
	checker *checker
	who     string
	lease   *leasehold.Lease
	shared  bool
}

func slotOf(name string) int { return redisserver.Slot(redisengine.DefaultPrefix + name) }

// exposed returns the largest token that anybody has seen so far.
func (j *checker) exposed() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.highest
}

// enter checks a grant when its caller learns of it. before is the largest token that was seen
// before the caller asked.
func (j *checker) enter(who string, lease *leasehold.Lease, shared bool, before uint64) *possession {
	w, token := j.simulation, lease.Token()
	w.printf("%s: granted %s %d, shared: %v", who, j.name, token, shared)
	w.count(&w.counts.grants)
	w.mu.Lock()
	close(w.granted)
	w.granted = make(chan struct{})
	w.mu.Unlock()
	if w.chance("let go", slotOf(j.name)).IntN(2) == 0 {
		w.releaseHeldBack(slotOf(j.name))
	}
	s := &possession{checker: j, who: who, lease: lease, shared: shared}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case token == 0 || token > driver.MaxToken:
		w.reportViolation("%s: token %d of %s is out of range", who, token, j.name)
	case j.tokens[token]:
		w.reportViolation("%s: token %d of %s was given before", who, token, j.name)
	case token <= before:
		w.reportViolation("%s: token %d of %s is not above %d, which was seen before it was asked for", who, token,
			j.name, before)
	case !shared && token <= j.highest:
		w.reportViolation("%s: token %d of %s comes after %d", who, token, j.name, j.highest)
	case token <= j.exclusive:
		w.reportViolation("%s: token %d of %s comes after %d of a writer", who, token, j.name, j.exclusive)
	}
	j.tokens[token] = true
	j.highest = max(j.highest, token)
	if !shared {
		j.exclusive = max(j.exclusive, token)
	}
	j.possessions[s] = true
	for o := range j.possessions {
		if o != s && !(o.shared && s.shared) && !o.hasEnded() && !s.hasEnded() {
			w.reportViolation("%s (token %d) and %s (token %d) both hold %s", who, token, o.who, o.lease.Token(),
				j.name)
		}
	}
	return s
}

func (s *possession) hasEnded() bool {
	return !time.Now().Before(s.lease.Deadline()) || s.lease.Context().Err() != nil
}

// leave ends a possession. The caller leaves before it releases.
func (s *possession) leave() {
	s.checker.mu.Lock()
	defer s.checker.mu.Unlock()
	delete(s.checker.possessions, s)
}
