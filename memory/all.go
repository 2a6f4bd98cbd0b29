package memory

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// TakeAll implements [driver.AllTaker], for any number of names. It has no effect if ctx has ended.
func (e *Engine) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return nil, driver.NoEffect(err)
	}
	defer e.lockShards(batch)()
	now := e.now()
	for i := range batch {
		if !e.admitsLocked(&batch[i], now) {
			return nil, driver.ErrHeld
		}
	}
	grants := make([]driver.Grant, len(batch))
	for i := range batch {
		r := &batch[i]
		s := e.shard(r.Key)
		en := s.entries[r.Name]
		if en == nil {
			en = s.addLocked(r.Name, now)
		}
		h := en.find(r.Owner, 0)
		if h != nil {
			en.extend(h, now, r.TTL)
		} else {
			h = e.grantLocked(en, &quorumnode.Request{Request: *r}, now)
		}
		grants[i] = h.grant()
	}
	return grants, nil
}

// lockShards locks the shards of all names, always in the same order so that two calls cannot block each other. The
// function that it returns unlocks them.
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

// admitsLocked reports whether a request can be granted now: its owner is a holder already, or nobody else holds the
// name in the way or waits for it. The shard is locked.
func (e *Engine) admitsLocked(r *driver.Request, now int64) bool {
	s := e.shard(r.Key)
	en := s.entries[r.Name]
	if en == nil {
		return true
	}
	e.expireAndServeLocked(s, r.Name, en, now)
	return s.removeIfEmptyLocked(r.Name, en) || en.find(r.Owner, 0) != nil || en.queue == nil && en.fits(r)
}
