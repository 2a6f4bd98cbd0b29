package sqlite

import (
	"encoding/json"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

// maxGrants is how many callers one transaction makes holders.
const maxGrants = 100

// grantWaiters makes holders of the callers at a key whose turn it is.
func (w *watcher) grantWaiters(wk *waitedKey) {
	if wk.key.Kind == driver.Latch {
		w.answerLatchWaiters(wk)
		return
	}
	ready, err := w.hasGrantable(wk)
	if err == nil && ready {
		err = w.grantReady(wk)
	}
	if err != nil {
		w.failCallers(wk, err)
	}
}

// hasGrantable reports whether a caller at the key may hold now. It locks nobody out.
func (w *watcher) hasGrantable(wk *waitedKey) (ready bool, err error) {
	err = w.engine.read(w.engine.ctx, func(v *view) error {
		h, err := v.readHolders(wk.key, "")
		if err != nil {
			return err
		}
		head, err := v.readQueueHead(wk.key, h.holderSum)
		// The last term is for waiters that count as dead now because this process was delayed, and that are refreshed
		// before anybody removes them.
		wk.due = min(h.nextExpiry, head.nextExpiry, v.now+micros(waiterTTL))
		ready = false
		for _, entry := range head.grantable {
			ready = ready || w.callerAt(wk, entry.seq) != nil
		}
		return err
	})
	return ready, err
}

// grantReady makes holders of the callers at a key that may hold now, in one transaction.
func (w *watcher) grantReady(wk *waitedKey) error {
	e := w.engine
	granted := make(map[*caller]driver.Grant)
	err := e.change(e.ctx, e.fast, func(v *view) error {
		clear(granted)
		h, err := v.readHolders(wk.key, "")
		if err != nil {
			return err
		}
		if err := v.removeExpired(wk.key, h); err != nil {
			return err
		}
		if err := v.removeDeadWaiters(wk.key); err != nil {
			return err
		}
		head, err := v.readQueueHead(wk.key, h.holderSum)
		if err != nil {
			return err
		}
		for _, entry := range head.grantable {
			// Checked inside the transaction, where no Release of this engine can intervene: a caller that has gone
			// gets no grant.
			c := w.callerAt(wk, entry.seq)
			if c == nil {
				continue
			}
			if granted[c], err = e.grant(v, c.request, entry.seq); err != nil {
				return err
			}
			if len(granted) == maxGrants {
				break
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for c, g := range granted {
		w.answerCaller(c, answer{grant: g})
	}
	w.noteChanged(wk.key) // the remaining waiters have new holders ahead of them
	return nil
}

// failCallers answers the callers at a key that the file cannot be used. If it is merely busy, they continue to wait.
func (w *watcher) failCallers(wk *waitedKey, err error) {
	if isBusy(err) || errors.Is(err, errBusy) {
		w.noteChanged(wk.key)
		return
	}
	for _, c := range w.callersAt(wk) {
		w.answerCaller(c, answer{err: err})
	}
}

// refreshWaiters notes in one statement that all callers in queues are alive. It also finds out whose place is gone:
// because this process was suspended for too long, or because of a Release.
func (w *watcher) refreshWaiters() {
	waiting := w.waitingCallers()
	if len(waiting) == 0 {
		return
	}
	ids := make([]int64, 0, len(waiting))
	for id := range waiting {
		ids = append(ids, id)
	}
	list, err := json.Marshal(ids)
	if err == nil {
		err = w.engine.extendWaiters(string(list), func(id int64) { delete(waiting, id) })
	}
	for _, c := range waiting {
		switch {
		case err == nil:
			w.answerCaller(c, answer{gone: true})
		case !isBusy(err) && !errors.Is(err, errBusy):
			w.answerCaller(c, answer{err: err})
		}
	}
}

// extendWaiters extends the time until which waiters count as alive. It calls found for those that still have a place.
func (e *Engine) extendWaiters(list string, found func(id int64)) error {
	var seqs []int64
	err := e.change(e.ctx, e.fast, func(v *view) error {
		seqs = seqs[:0]
		var id int64
		return v.forEach([]any{&id}, func() bool {
			seqs = append(seqs, id)
			return true
		}, `UPDATE waiters SET alive_until = ? WHERE seq IN (SELECT value FROM json_each(?)) RETURNING seq`,
			v.now+micros(waiterTTL), list)
	})
	if err != nil {
		return err
	}
	for _, id := range seqs {
		found(id)
	}
	return nil
}

// waitingCallers returns all callers that have a place in a queue, by the number of that place.
func (w *watcher) waitingCallers() map[int64]*caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiting := make(map[int64]*caller)
	for key, wk := range w.keys {
		if key.Kind == driver.Latch {
			continue
		}
		for id, c := range wk.callers {
			waiting[id] = c
		}
	}
	return waiting
}
