package memory

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// TakeAll implements [driver.AllTaker], for any number of names. It has no effect if ctx has ended.
func (e *Engine) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return nil, driver.NoEffect(err)
	}
	defer e.lockShards(batch)()
	now := e.now()
	for i := range batch {
		if !e.admits(&batch[i], now) {
			return nil, driver.ErrHeld
		}
	}
	grants := make([]driver.Grant, len(batch))
	for i := range batch {
		r := &batch[i]
		s := e.shard(r.Key)
		en := s.entries[r.Name]
		if en == nil {
			en = s.add(r.Name, now)
		}
		h := en.find(r.Owner, 0)
		if h != nil {
			en.extend(h, now, r.TTL)
		} else {
			h = e.grant(en, r, now)
		}
		grants[i] = h.grant()
	}
	return grants, nil
}

// lockShards locks the shards of all names, always in the same order, and returns what unlocks them.
func (e *Engine) lockShards(batch []driver.Request) (unlock func()) {
	wanted := make(map[*shard]bool, len(batch))
	for i := range batch {
		wanted[e.shard(batch[i].Key)] = true
	}
	for i := range e.locks {
		if s := &e.locks[i]; wanted[s] {
			s.mu.Lock()
		}
	}
	return func() {
		for s := range wanted {
			s.mu.Unlock()
		}
	}
}

// admits reports whether a request can be granted now, because its owner holds already or nobody else holds or waits. Its
// shard is locked.
func (e *Engine) admits(r *driver.Request, now int64) bool {
	s := e.shard(r.Key)
	en := s.entries[r.Name]
	if en == nil {
		return true
	}
	e.settle(s, r.Name, en, now)
	return s.tidy(r.Name, en) || en.find(r.Owner, 0) != nil || en.queue == nil && en.fits(r)
}
