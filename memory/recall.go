package memory

import (
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// takeOrRecall is takeLocked, but first asks a holder to let go who may not be using the lock. If none of those who
// were asked uses it, but it is still held, the error says that the holder lingers.
func (e *Engine) takeOrRecall(r *quorumnode.Request) (driver.Grant, *waiter, error) {
	s := e.shard(r.Key)
	s.mu.Lock()
	g, w, err := e.takeLocked(s, r)
	var recalls []func() bool
	var left time.Duration
	if err == driver.ErrHeld {
		recalls, left = s.recallsLocked(r, e.now())
	}
	s.mu.Unlock()
	if len(recalls) == 0 {
		return g, w, err
	}
	for _, recall := range recalls {
		if recall() {
			return g, w, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, w, err = e.takeLocked(s, r); err == driver.ErrHeld {
		err = &driver.HeldError{Left: left, Lingers: true}
	}
	return g, w, err
}

// recallsLocked returns the Recall functions of the holders of a name that is held, unless the owner of the request is
// one of them, and the time until their leases end. The shard is locked.
func (s *shard) recallsLocked(r *quorumnode.Request, now int64) (recalls []func() bool, left time.Duration) {
	en := s.entries[r.Name]
	for i := range en.holds {
		h := &en.holds[i]
		if h.owner == r.Owner {
			return nil, 0
		}
		if h.recall != nil {
			recalls, left = append(recalls, h.recall), time.Duration(h.expires-now)
		}
	}
	return recalls, left
}
