package quorum

import (
	"sync"
	"time"
)

// rule is what every engine must heed, whatever the schedule: an owner that was named in a release is not used in a take again. A request may be under way for
// any time, so what counts is when it is sent.
type rule struct {
	broken func(format string, args ...any)

	mu       sync.Mutex
	released map[string]time.Time // when an owner was named first
	at       map[string]bool      // by owner and place
}

func newRule(broken func(format string, args ...any)) *rule {
	return &rule{broken: broken, released: map[string]time.Time{}, at: map[string]bool{}}
}

func (r *rule) release(owner, place string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, before := r.released[owner]; !before {
		r.released[owner] = time.Now()
	}
	r.at[owner+" "+place] = true
}

// take judges a take that is sent to a place. What goes to several places at the same instant has no order.
func (r *rule) take(owner, place string) {
	r.mu.Lock()
	since, named := r.released[owner]
	again := r.at[owner+" "+place] || named && time.Now().After(since)
	r.mu.Unlock()
	if again {
		r.broken("%s is asked to grant something to an owner that was named in a release %v before", place, time.Since(since))
	}
}
