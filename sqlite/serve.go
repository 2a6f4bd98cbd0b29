package sqlite

import (
	"encoding/json"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

// mostGrants is how many callers one transaction lets in.
const mostGrants = 100

// serve lets in the callers at a spot whose turn it is.
func (w *watcher) serve(s *spot) {
	if s.key.Kind == driver.Latch {
		w.serveLatch(s)
		return
	}
	ready, err := w.ready(s)
	if err == nil && ready {
		err = w.admit(s)
	}
	if err != nil {
		w.fail(s, err)
	}
}

// ready reports whether a caller at the spot may enter, without locking anybody out.
func (w *watcher) ready(s *spot) (ready bool, err error) {
	err = w.engine.read(w.engine.life, func(v *view) error {
		h, err := v.look(s.key, "")
		if err != nil {
			return err
		}
		l, err := v.readLine(s.key, h.crowd)
		// The last is for places that count as dead at this moment, because this
		// process was held up, and are refreshed before anybody buries them.
		s.due = min(h.nextEnd, l.nextEnd, v.now+micros(waiterLife))
		ready = false
		for _, p := range l.run {
			ready = ready || w.callerAt(s, p.seq) != nil
		}
		return err
	})
	return ready, err
}

// admit makes holders of the callers whose turn it is.
func (w *watcher) admit(s *spot) error {
	e := w.engine
	granted := make(map[*caller]driver.Grant)
	err := e.change(e.life, e.fast, func(v *view) error {
		clear(granted)
		h, err := v.look(s.key, "")
		if err != nil {
			return err
		}
		if err := v.clear(s.key, h); err != nil {
			return err
		}
		if err := v.bury(s.key); err != nil {
			return err
		}
		l, err := v.readLine(s.key, h.crowd)
		if err != nil {
			return err
		}
		for _, p := range l.run {
			// Asked here, where no Release of this engine can come in between: a
			// caller that has gone gets nothing any more.
			c := w.callerAt(s, p.seq)
			if c == nil {
				continue
			}
			if granted[c], err = e.grant(v, c.request, p.seq); err != nil {
				return err
			}
			if len(granted) == mostGrants {
				break
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for c, g := range granted {
		w.tell(c, answer{grant: g})
	}
	w.stir(s.key) // those who wait on have new holders before them
	return nil
}

// fail tells the callers at a spot that the file cannot be used. If it is merely busy, they
// go on waiting.
func (w *watcher) fail(s *spot, err error) {
	if isBusy(err) || errors.Is(err, errBusy) {
		w.stir(s.key)
		return
	}
	for _, c := range w.callersAt(s) {
		w.tell(c, answer{err: err})
	}
}

// refresh says that all callers in queues live, in one statement, and finds out whose place is gone: because
// this process has slept for too long, or because of a Release.
func (w *watcher) refresh() {
	waiting := w.queued()
	if len(waiting) == 0 {
		return
	}
	ids := make([]int64, 0, len(waiting))
	for id := range waiting {
		ids = append(ids, id)
	}
	list, err := json.Marshal(ids)
	if err == nil {
		err = w.engine.extend(string(list), func(id int64) { delete(waiting, id) })
	}
	for _, c := range waiting {
		switch {
		case err == nil:
			w.tell(c, answer{gone: true})
		case !isBusy(err) && !errors.Is(err, errBusy):
			w.tell(c, answer{err: err})
		}
	}
}

// extend moves on the time until which waiters count as living. It calls found for those who are there.
func (e *Engine) extend(list string, found func(id int64)) error {
	var places []int64
	err := e.change(e.life, e.fast, func(v *view) error {
		places = places[:0]
		var id int64
		return v.each([]any{&id}, func() bool {
			places = append(places, id)
			return true
		}, `UPDATE waiters SET alive_until = ? WHERE seq IN (SELECT value FROM json_each(?)) RETURNING seq`,
			v.now+micros(waiterLife), list)
	})
	if err != nil {
		return err
	}
	for _, id := range places {
		found(id)
	}
	return nil
}

// queued returns all callers that have a place in a queue, by their places.
func (w *watcher) queued() map[int64]*caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiting := make(map[int64]*caller)
	for key, s := range w.spots {
		if key.Kind == driver.Latch {
			continue
		}
		for id, c := range s.callers {
			waiting[id] = c
		}
	}
	return waiting
}
