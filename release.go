package leasehold

import (
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Release ends the lease. It does not depend on any context, takes no longer than a request may, and may
// be called again: it then returns what it returned the first time.
//
// It returns nil if the lock was held to the end, ErrLost or ErrMaxHold if the lease had ended before
// (the work under it was not protected at its end), and ErrUnknown if the engine did not
// confirm: the lease is over then, too, and the release is repeated in the background.
func (l *Lease) Release() error {
	l.release.Do(func() {
		l.result = l.leave()
	})
	return l.result
}

// leave is the release of one lease. The last one of a tenure ends it.
func (l *Lease) leave() error {
	h := l.hold
	h.check()
	h.mu.Lock()
	h.unwatch(l)
	h.handles.Add(-1) // under mu, lest the renewer find a hold that nobody seems to have
	l.last = h.deadline()
	if err := l.state(); err != nil {
		h.mu.Unlock()
		return h.lock.failure("release", err, nil)
	}
	if h.count--; h.count > 0 {
		l.left = true
		mine := l.ending
		h.endings = slices.DeleteFunc(h.endings, func(e *ending) bool { return e == mine })
		h.mu.Unlock()
		if mine != nil {
			mine.cancel(ErrReleased)
		}
		return nil
	}
	event, endings := h.releasing(), h.endings
	if !h.pass() {
		return h.giveUp(ErrReleased)
	}
	h.mu.Unlock()
	for _, e := range endings {
		e.cancel(ErrReleased)
	}
	h.tellReleased(event)
	return nil
}

// releasing is the event of a release that is about to happen. mu is held.
func (h *hold) releasing() (event Released) {
	if h.lock.client.observers.release != nil {
		event = Released{About: h.lock.about(h.mode), Token: h.token, Held: time.Since(h.since.Time())}
	}
	return event
}

func (h *hold) tellReleased(event Released) {
	for _, o := range h.lock.client.observers.release {
		o.ObserveRelease(event)
	}
}

// giveUp ends the hold and tells the engine. The renewer has forgotten the hold before the request is
// sent, so no renewal follows a release. mu is held, and released.
func (h *hold) giveUp(cause error) error {
	l := h.lock
	c := l.client
	event := h.releasing()
	r := h.toRelease(h.keep())
	turn := h.turn
	h.turn = false // kept until the engine has answered: others of this process would ask in vain
	after := h.end(cause)
	h.mu.Unlock()
	after()
	if turn {
		c.queue.SetHeld(l.key, false)
	}
	err := h.send(r)
	if turn {
		c.queue.Done(l.key)
	}
	switch {
	case driver.IsNo(err):
		err = l.failure("release", ErrLost, nil)
	case err != nil:
		err = l.failure("release", ErrUnknown, err)
	}
	event.Err = err
	h.tellReleased(event)
	return err
}

// keep is how long the lock must stay taken because of AtLeast. mu is held.
func (h *hold) keep() time.Duration {
	if h.lock.atLeast == 0 || h.token == 0 { // a hold without a token was never anybody's
		return 0
	}
	return max(h.lock.atLeast-time.Since(h.since.Time()), 0)
}
