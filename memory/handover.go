package memory

import (
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// expireAndServeLocked brings an entry up to date: it removes expired holds and grants to the waiters that fit now. It
// must run before the holds are read. The shard is locked.
func (e *Engine) expireAndServeLocked(s *shard, name string, en *entry, now int64) {
	en.removeExpired(now)
	e.serveLocked(s, name, en)
}

// serveLocked grants to the head of the queue as long as it fits. Others must not overtake a head that does not fit,
// such as a writer or a large weight: it could wait for ever. The shard is locked.
func (e *Engine) serveLocked(s *shard, name string, en *entry) {
	q := en.queue
	if q == nil {
		return
	}
	if q.head != nil && en.fits(&q.head.request.Request) {
		// Start is read before the moment from which the leases count.
		start := driver.Now()
		now := e.now()
		for q.head != nil && en.fits(&q.head.request.Request) {
			w := q.head
			q.remove(w)
			w.grant = e.grantLocked(en, &w.request, now).grant()
			w.grant.Start, w.behind = start, q.next()
			close(w.ready)
		}
	}
	if q.head == nil {
		q.timer.disarmLocked()
		en.queue = nil
		s.spareQueue = q
		return
	}
	if en.nextExpiry < q.timer.due {
		e.armLocked(s, name, q, en.nextExpiry)
	}
}

// timer serves a queue when a lease expires that nobody renews or releases.
type timer struct {
	due  int64 // never: not armed
	stop func() bool
}

func (t *timer) disarmLocked() {
	if t.stop != nil {
		t.stop()
	}
	*t = timer{due: never}
}

// armLocked makes sure that the entry is served at the moment due. A timer that was stopped too late may serve it once
// more, which is harmless. The shard is locked.
func (e *Engine) armLocked(s *shard, name string, q *queue, due int64) {
	q.timer.disarmLocked()
	q.timer.due = due
	q.timer.stop = e.afterFunc(time.Duration(due-e.now()), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if en := s.entries[name]; en != nil && en.queue == q {
			q.timer.disarmLocked()
			e.expireAndServeLocked(s, name, en, e.now())
			s.removeIfEmptyLocked(name, en)
		}
	})
}

func (e *Engine) afterFunc(d time.Duration, f func()) (stop func() bool) {
	if e.clock == nil {
		return time.AfterFunc(d, f).Stop
	}
	return e.clock.AfterFunc(d, f)
}
