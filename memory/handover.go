package memory

import (
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// settle brings an entry up to now: leases that have ended are dropped, and those
// whose turn it is are let in. Whatever looks at holds calls it first.
func (e *Engine) settle(s *shard, name string, en *entry, now int64) {
	en.expire(now)
	e.serve(s, name, en)
}

// serve grants to the head of the queue for as long as it fits. A head that does
// not fit, such as a writer or a large weight, is not overtaken by others that
// would: it could wait for ever.
func (e *Engine) serve(s *shard, name string, en *entry) {
	q := en.queue
	if q == nil {
		return
	}
	if q.head != nil && en.fits(&q.head.request) {
		// Start is read before the moment from which the leases count.
		start := driver.Now()
		now := e.now()
		for q.head != nil && en.fits(&q.head.request) {
			w := q.head
			q.remove(w)
			w.grant = e.grant(en, &w.request, now).grant()
			w.grant.Start = start
			close(w.ready)
		}
	}
	if q.head == nil {
		q.timer.disarm()
		en.queue = nil
		s.spareQueue = q
		return
	}
	if en.soonest < q.timer.due {
		e.arm(s, name, q, en.soonest)
	}
}

// timer wakes a queue when a lease ends that nobody renews or releases.
type timer struct {
	due  int64 // never if it is not armed
	stop func() bool
}

func (t *timer) disarm() {
	if t.stop != nil {
		t.stop()
	}
	*t = timer{due: never}
}

// arm makes sure that the entry is settled at the moment due. A timer that was
// stopped too late may settle it once more, which does no harm.
func (e *Engine) arm(s *shard, name string, q *queue, due int64) {
	q.timer.disarm()
	q.timer.due = due
	q.timer.stop = e.afterFunc(time.Duration(due-e.now()), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if en := s.entries[name]; en != nil && en.queue == q {
			q.timer.disarm()
			e.settle(s, name, en, e.now())
			s.tidy(name, en)
		}
	})
}

func (e *Engine) afterFunc(d time.Duration, f func()) (stop func() bool) {
	if e.clock == nil {
		return time.AfterFunc(d, f).Stop
	}
	return e.clock.AfterFunc(d, f)
}
