package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

// latch is a row of the table latches.
type latch struct {
	driver.LatchState
	setBy   string
	expires int64
}

// readLatch returns driver.ErrNotSet if there is none, or it has expired.
func (v *view) readLatch(name string) (l latch, err error) {
	var generation int64
	err = v.row([]any{&generation, &l.Count, &l.setBy, &l.expires},
		"SELECT generation, count, set_id, expires FROM latches WHERE name = ? AND expires > ?", name, v.now)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return l, driver.ErrNotSet
	case err == nil && (generation <= 0 || l.Count < 0):
		return l, errLatch
	}
	l.Generation, l.TTL = uint64(generation), duration(l.expires-v.now)
	return l, err
}

// trySet is TrySet in the goroutine of a worker. The latch is flushed to disk before TrySet returns.
func (e *Engine) trySet(ctx context.Context, s driver.LatchSet) (set bool, err error) {
	err = e.change(ctx, e.durable, func(v *view) error {
		set = false
		l, err := v.readLatch(s.Name)
		switch {
		case errors.Is(err, driver.ErrNotSet):
		case err != nil:
			return err
		case l.setBy == s.ID:
			set = true
			return v.extendLatch(s.Name, micros(s.TTL))
		case l.Count > 0:
			return nil
		}
		set = true
		return e.setLatch(v, s)
	})
	e.watcher.noteChanged(driver.Key{Kind: driver.Latch, Name: s.Name})
	return set && err == nil, err
}

func (e *Engine) setLatch(v *view, s driver.LatchSet) error {
	if _, err := v.exec("DELETE FROM latch_downs WHERE name = ?", s.Name); err != nil {
		return err
	}
	generation, err := e.issueTokens(v, 1)
	if err != nil {
		return err
	}
	ttl := micros(s.TTL)
	_, err = v.exec(`
		INSERT OR REPLACE INTO latches (name, generation, count, set_id, ttl, expires)
		VALUES (?, ?, ?, ?, ?, ?)`,
		s.Name, generation, s.Count, s.ID, ttl, v.now+ttl)
	return err
}

func (v *view) extendLatch(name string, ttl int64) error {
	_, err := v.exec("UPDATE latches SET ttl = ?, expires = ? WHERE name = ?", ttl, v.now+ttl, name)
	return err
}

// countDown is CountDown in the goroutine of a worker. The count is flushed to disk before CountDown returns.
func (e *Engine) countDown(ctx context.Context, d driver.LatchDown) (state driver.LatchState, err error) {
	set := true
	err = e.change(ctx, e.durable, func(v *view) error {
		l, err := v.readLatch(d.Name)
		if set = !errors.Is(err, driver.ErrNotSet); !set {
			return nil
		}
		if err != nil {
			return err
		}
		state, err = v.countDown(l, d)
		return err
	})
	e.watcher.noteChanged(driver.Key{Kind: driver.Latch, Name: d.Name})
	if err == nil && !set {
		err = driver.ErrNotSet
	}
	return state, err
}

func (v *view) countDown(l latch, d driver.LatchDown) (driver.LatchState, error) {
	fresh := int64(1)
	if l.Count > 0 {
		var err error
		fresh, err = v.exec("INSERT OR IGNORE INTO latch_downs (name, id) VALUES (?, ?)", d.Name, d.ID)
		if err != nil {
			return driver.LatchState{}, err
		}
		l.Count -= int(fresh)
	}
	if fresh == 0 {
		return l.LatchState, nil
	}
	ttl := micros(d.TTL)
	l.TTL = duration(ttl)
	_, err := v.exec("UPDATE latches SET count = ?, ttl = ?, expires = ? WHERE name = ?",
		l.Count, ttl, v.now+ttl, d.Name)
	return l.LatchState, err
}

// latchState is LatchState in the goroutine of a worker.
func (e *Engine) latchState(ctx context.Context, name string) (driver.LatchState, error) {
	var l latch
	err := e.read(ctx, func(v *view) (err error) {
		l, err = v.readLatch(name)
		return err
	})
	if err != nil {
		return driver.LatchState{}, err
	}
	return l.LatchState, nil
}

// WaitLatch implements [driver.Latcher].
func (e *Engine) WaitLatch(ctx context.Context, name string, generation uint64) error {
	key := driver.Key{Kind: driver.Latch, Name: name}
	return e.await(ctx, &caller{request: driver.Request{Key: key}, generation: generation}).err
}

// answerLatchWaiters answers those for whom the latch is at zero, set again, or forgotten.
func (w *watcher) answerLatchWaiters(wk *waitedKey) {
	var l latch
	err := w.engine.read(w.engine.ctx, func(v *view) (err error) {
		l, err = v.readLatch(wk.key.Name)
		return err
	})
	if err != nil {
		w.failCallers(wk, err)
		return
	}
	for _, c := range w.callersAt(wk) {
		if l.Count == 0 || l.Generation != c.generation {
			w.answerCaller(c, answer{})
		}
	}
	wk.due = l.expires
}
