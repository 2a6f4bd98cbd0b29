package quorum

import (
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// judge watches one name: who is in, and whether tokens grow.
type judge struct {
	w    *world
	name string

	mu      sync.Mutex
	in      map[*stay]bool
	tokens  map[uint64]bool
	highest uint64
}

// stay is the time during which somebody relies on a lease.
type stay struct {
	judge *judge
	who   string
	token uint64
	over  func() bool // by its own clock
}

func newJudge(w *world, name string) *judge {
	return &judge{w: w, name: name, in: map[*stay]bool{}, tokens: map[uint64]bool{}}
}

// exposed is the highest token that anybody has seen so far.
func (j *judge) exposed() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.highest
}

// enter judges a grant at the moment at which its caller hears of it. before is the highest token that was seen before the
// caller asked.
func (j *judge) enter(who string, token uint64, over func() bool, before uint64) *stay {
	w := j.w
	w.printf("%s: granted %s %d", who, j.name, token)
	w.count(&w.counts.grants)
	s := &stay{judge: j, who: who, token: token, over: over}
	w.held.letGo()
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case token == 0 || token > driver.MaxToken:
		w.broken("%s: token %d of %s is out of range", who, token, j.name)
	case j.tokens[token]:
		w.broken("%s: token %d of %s was given before", who, token, j.name)
	case token <= before:
		w.broken("%s: token %d of %s is not above %d, which was seen before it was asked for", who, token, j.name, before)
	case w.timely && token <= j.highest:
		w.broken("%s: token %d of %s comes after %d", who, token, j.name, j.highest)
	}
	j.tokens[token] = true
	j.highest = max(j.highest, token)
	j.in[s] = true
	for o := range j.in {
		if o != s && !o.over() && !s.over() {
			w.count(&w.counts.together)
			if w.timely {
				w.broken("%s (token %d) and %s (token %d) both hold %s", who, token, o.who, o.token, j.name)
			}
		}
	}
	return s
}

// leave ends a stay. The caller leaves before it releases.
func (s *stay) leave() {
	s.judge.mu.Lock()
	defer s.judge.mu.Unlock()
	delete(s.judge.in, s)
}

// validity is how long a lease of this ttl is relied on.
func validity(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }
