package objects

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold"
)

// multiHold is what one Lock or TryLock of a MultiLock has locked.
type multiHold struct {
	need int
	ctx  context.Context // ends when the hold is lost, or with unlock
	end  context.CancelCauseFunc

	mu       sync.Mutex
	locks    []*Lock
	complete bool  // enough of them were locked
	lost     error // why too few of them are left; nil before
	ended    bool  // by unlock
}

// newMultiHold returns a hold without locks.
func newMultiHold(need int) *multiHold {
	h := &multiHold{need: need}
	h.ctx, h.end = context.WithCancelCause(context.Background())
	return h
}

// join adds a lock that was just locked. It reports false, and does nothing, after unlock.
func (h *multiHold) join(l *Lock) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	h.locks = append(h.locks, l)
	stop := context.AfterFunc(l.Context(), func() { _ = h.lostCause() })
	context.AfterFunc(h.ctx, func() { stop() })
	return true
}

// isComplete reports whether enough locks are held. From then on the hold may be lost.
func (h *multiHold) isComplete() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	held, _ := h.countLocked()
	h.complete = h.complete || held >= h.need
	return h.complete
}

// missing returns how many more locks it takes.
func (h *multiHold) missing() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	held, _ := h.countLocked()
	return h.need - held
}

// countLocked returns how many locks are held, and why one is not. It looks at the clock: a process that was stopped
// finds at once that its leases have ended.
func (h *multiHold) countLocked() (held int, lost error) {
	for _, l := range h.locks {
		if l.HoldCount() > 0 {
			held++
		} else {
			lost = context.Cause(l.Context())
		}
	}
	return held, lost
}

// lostCause returns why the hold is lost, or nil.
func (h *multiHold) lostCause() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held, lost := h.countLocked(); h.complete && !h.ended && h.lost == nil && held < h.need {
		h.lost = lost
		h.end(lost)
	}
	return h.lost
}

// unlock unlocks all locks. It returns when so many servers have confirmed that others can lock enough of them, or when
// a limit above 0 has passed. The rest goes on in the background.
func (h *multiHold) unlock(limit time.Duration) error {
	h.mu.Lock()
	locks := slices.Clone(h.locks)
	h.ended = true
	h.mu.Unlock()
	h.end(leasehold.ErrReleased)
	answers := make(chan error, len(locks))
	for _, l := range locks {
		l.h.client.work(func() { answers <- l.Unlock() })
	}
	var late <-chan time.Time
	if limit > 0 {
		late = time.After(limit)
	}
	confirmed := 0
	var gone, failed []error
	for range locks {
		select {
		case err := <-answers:
			switch {
			case errors.Is(err, ErrNotHeld):
				gone = append(gone, err)
			case err != nil:
				failed = append(failed, err)
			default:
				confirmed++
			}
		case <-late:
			return nil
		}
		if confirmed == h.need {
			return nil
		}
	}
	if len(locks)-len(gone) < h.need { // it was lost without notice until now
		return errors.Join(gone...)
	}
	return errors.Join(failed...)
}
