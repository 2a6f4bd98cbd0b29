package leasehold

import "slices"

// Release ends the lease. It does not depend on any context and takes no longer than a request may. It may be called
// again, and then returns the same.
//
// It returns nil if the lock was held to the end. It returns ErrLost, ErrMaxHold or ErrClosed if the lease
// had ended before, so that the end of the work was not protected. It returns ErrUnknown if the engine did
// not confirm: the lease has ended then as well, and the release is repeated in the background.
func (l *Lease) Release() error {
	l.releaseOnce.Do(func() {
		h := l.hold
		h.checkHeld()
		h.mu.Lock()
		rest := l.releaseOneLocked()
		h.mu.Unlock()
		l.releaseErr = rest.run()
	})
	return l.releaseErr
}

// releaseOneLocked releases one lease. The last one of a tenure ends the tenure, and the hold unless that is handed
// over.
func (l *Lease) releaseOneLocked() afterUnlock {
	h := l.hold
	h.unwatchLeaseLocked(l)
	h.handles.Add(-1) // with hold.mu locked, so that the renewer does not take the hold for a dropped one
	l.lastDeadline = h.validity.deadline()
	if err := l.errLocked(); err != nil {
		return afterUnlock{hold: h, err: h.lock.newError("release", err, nil)}
	}
	rest := afterUnlock{hold: h, cause: ErrReleased}
	if h.openLeases--; h.openLeases > 0 {
		l.released = true
		if end := l.contextEnd; end != nil {
			h.contextEnds = slices.DeleteFunc(h.contextEnds, func(e *contextEnd) bool { return e == end })
			rest.ends = []*contextEnd{end}
		}
		return rest
	}
	rest.ends, rest.released = h.contextEnds, h.releaseEventLocked()
	if !h.handOverLocked() {
		return h.releaseLocked(ErrReleased)
	}
	return rest
}
