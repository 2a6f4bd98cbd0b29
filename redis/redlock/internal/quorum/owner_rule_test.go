package quorum

import (
	"sync"
	"time"
)

// ownerRule is a rule for every schedule: an owner that was named in a release is never used in a take again.
// Requests may be in flight for any time, so what counts is when they are sent.
type ownerRule struct {
	broken func(format string, args ...any)

	mu            sync.Mutex
	firstReleased map[string]time.Time // by owner
	releasedOn    map[string]bool      // keys are owner and node
}

func newOwnerRule(broken func(format string, args ...any)) *ownerRule {
	return &ownerRule{broken: broken, firstReleased: map[string]time.Time{}, releasedOn: map[string]bool{}}
}

func (r *ownerRule) noteRelease(owner, node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, before := r.firstReleased[owner]; !before {
		r.firstReleased[owner] = time.Now()
	}
	r.releasedOn[owner+" "+node] = true
}

// checkTake checks a take that is sent to a node. Requests to several nodes at the same instant have no order.
func (r *ownerRule) checkTake(owner, node string) {
	r.mu.Lock()
	since, named := r.firstReleased[owner]
	again := r.releasedOn[owner+" "+node] || named && time.Now().After(since)
	r.mu.Unlock()
	if again {
		r.broken("%s is asked to grant something to an owner that was named in a release %v before", node,
			time.Since(since))
	}
}
