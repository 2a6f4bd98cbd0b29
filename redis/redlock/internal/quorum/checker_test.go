package quorum

import (
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// checker checks one name: who holds it, and whether tokens grow.
type checker struct {
	simulation *simulation
	name       string

	mu      sync.Mutex
	holders map[*possession]bool
	tokens  map[uint64]bool
	highest uint64
}

// possession is the time during which a worker relies on a lease.
type possession struct {
	checker  *checker
	who      string
	token    uint64
	hasEnded func() bool // by the worker's own clock
}

func newChecker(s *simulation, name string) *checker {
	return &checker{simulation: s, name: name, holders: map[*possession]bool{}, tokens: map[uint64]bool{}}
}

// highestSeen is the highest token that anybody has seen so far.
func (c *checker) highestSeen() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.highest
}

// enter checks a grant at the moment at which its caller learns of it. before is the highest token that was
// seen before the caller asked.
func (c *checker) enter(who string, token uint64, hasEnded func() bool, before uint64) *possession {
	s := c.simulation
	s.printf("%s: granted %s %d", who, c.name, token)
	s.count(&s.counts.grants)
	p := &possession{checker: c, who: who, token: token, hasEnded: hasEnded}
	s.heldRequests.releaseAll()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case token == 0 || token > driver.MaxToken:
		s.violated("%s: token %d of %s is out of range", who, token, c.name)
	case c.tokens[token]:
		s.violated("%s: token %d of %s was given before", who, token, c.name)
	case token <= before:
		s.violated("%s: token %d of %s is not above %d, which was seen before it was asked for", who, token, c.name,
			before)
	case s.noClockAdvances && token <= c.highest:
		s.violated("%s: token %d of %s comes after %d", who, token, c.name, c.highest)
	}
	c.tokens[token] = true
	c.highest = max(c.highest, token)
	c.holders[p] = true
	for o := range c.holders {
		if o != p && !o.hasEnded() && !p.hasEnded() {
			s.count(&s.counts.together)
			if s.noClockAdvances {
				s.violated("%s (token %d) and %s (token %d) both hold %s", who, token, o.who, o.token, c.name)
			}
		}
	}
	return p
}

// leave ends a possession. The caller leaves before it releases.
func (p *possession) leave() {
	p.checker.mu.Lock()
	defer p.checker.mu.Unlock()
	delete(p.checker.holders, p)
}

// validity is how long a lease of this ttl is relied on.
func validity(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }
