package objects

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold"
)

// round is an attempt to lock a majority.
type round struct {
	hold    *multiHold
	decided chan struct{} // closed when there is a majority, or can be none any more
	stop    func()        // ends the requests

	mu        sync.Mutex
	pending   map[*Lock]struct{} // have not answered
	failures  []error
	isDecided bool
}

// answerLimit is for how long an attempt waits for the answers of servers on which it depends.
func (m *MultiLock) answerLimit(r request) time.Duration {
	lease := r.lease
	for _, l := range m.locks {
		if r.lease == 0 && (lease == 0 || l.h.engine.watchdog < lease) {
			lease = l.h.engine.watchdog
		}
	}
	return min(max(lease/10, 50*time.Millisecond), time.Second)
}

// tryMajority asks for all locks at the same time.
func (m *MultiLock) tryMajority(ctx context.Context, h *multiHold, r request, _ int, _ bool) (refused int, _ error) {
	limit := m.answerLimit(r)
	// Locks that are granted after the majority may join it, also when the caller's context has ended meanwhile.
	asking, stop := context.WithTimeout(context.WithoutCancel(ctx), limit)
	rd := &round{hold: h, decided: make(chan struct{}), stop: stop, pending: map[*Lock]struct{}{}}
	for _, l := range m.locks {
		rd.pending[l] = struct{}{}
	}
	for _, l := range m.locks {
		l.h.client.work(func() {
			ok, err := l.TryLock(asking, LeaseTime(r.lease), outlive)
			l.h.noteSilent(asking, err)
			if asking.Err() != nil && errors.Is(err, context.DeadlineExceeded) { // of the attempt, not of the caller
				err = l.h.fail("try lock", leasehold.ErrUnavailable, errSilent)
			}
			rd.note(l, ok, err)
		})
	}
	early := time.NewTimer(limit / 10) // servers that were silent before are not waited for as long
	defer early.Stop()
	for waits := true; waits; {
		select {
		case <-rd.decided:
			waits = false
		case <-early.C:
			waits = !rd.dependsOnSilent()
		case <-ctx.Done():
			waits = false
		}
	}
	if h.isComplete() {
		return 0, nil
	}
	// The others mostly answer at once. To leave them would cost a release each.
	return 0, rd.failure(len(m.locks) - m.need)
}

// note notes an answer.
func (rd *round) note(l *Lock, ok bool, err error) {
	if ok && !rd.hold.join(l) {
		_ = l.Unlock() // the lease ends if the server does not answer
	}
	complete := rd.hold.isComplete()
	rd.mu.Lock()
	defer rd.mu.Unlock()
	delete(rd.pending, l)
	if err != nil {
		rd.failures = append(rd.failures, err)
	}
	if len(rd.pending) == 0 {
		rd.stop()
	}
	if !rd.isDecided && (complete || rd.hold.missing() > len(rd.pending)) {
		rd.isDecided = true
		close(rd.decided)
	}
}

// dependsOnSilent reports whether all servers have answered but those that were silent before.
func (rd *round) dependsOnSilent() bool {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	for l := range rd.pending {
		if !l.h.silent.Load() {
			return false
		}
	}
	return true
}

// failure returns an error if more servers have failed, or have not answered, than may.
func (rd *round) failure(mayFail int) error {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if len(rd.failures)+len(rd.pending) <= mayFail {
		return nil
	}
	errs := slices.Clone(rd.failures)
	for l := range rd.pending {
		errs = append(errs, l.h.fail("try lock", leasehold.ErrUnavailable, errSilent))
	}
	return errors.Join(errs...)
}

// errSilent is why a server counts as failed whose answer was not waited for.
var errSilent = errors.New("no answer yet")

// noteSilent notes whether the server has left a request unanswered until its context ended.
func (h *holder) noteSilent(ctx context.Context, err error) {
	switch {
	case err == nil || ctx.Err() == nil:
		h.silent.Store(false)
	case errors.Is(err, context.DeadlineExceeded):
		h.silent.Store(true)
	}
}
