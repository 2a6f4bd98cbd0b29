package memory

import (
	"context"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

// List implements [driver.Engine]. It locks one shard at a time, so the entries of a listing need not have existed at
// the same moment.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	q.Limit = paging.Limit(q)
	var page []driver.Status
	for len(page) < q.Limit {
		if err := ctx.Err(); err != nil {
			return nil, driver.NoEffect(err)
		}
		keys, more := e.keys(q, q.Limit-len(page))
		for _, k := range keys {
			if st, ok := e.status(k, q.Queue); ok {
				page = append(page, st)
			}
		}
		if !more {
			break
		}
		// Some are gone by now: fill the page with those that follow.
		q.After = keys[len(keys)-1]
	}
	return page, nil
}

// keys returns the first limit keys that match the query, in order, and whether there are more.
func (e *Engine) keys(q driver.Query, limit int) (keys []driver.Key, more bool) {
	add := func(k driver.Key) {
		if !paging.Matches(q, k) {
			return
		}
		keys = append(keys, k)
		if len(keys) >= 4*limit { // more than the page can show: drop the last
			slices.SortFunc(keys, driver.Key.Compare)
			keys = keys[:limit]
			more = true
		}
	}
	for kind := range paging.Kinds(q) {
		if q.Name != "" {
			add(driver.Key{Kind: kind, Name: q.Name})
			continue
		}
		e.each(kind, func(name string) { add(driver.Key{Kind: kind, Name: name}) })
	}
	slices.SortFunc(keys, driver.Key.Compare)
	if len(keys) > limit {
		return keys[:limit], true
	}
	return keys, more
}

// each calls f with the names of one kind, in no order.
func (e *Engine) each(kind driver.Kind, f func(name string)) {
	var shards *[shardCount]shard
	switch kind {
	case driver.Lock:
		shards = &e.locks
	case driver.Semaphore:
		shards = &e.semaphores
	default:
		e.latches.each(f)
		return
	}
	for i := range shards {
		s := &shards[i]
		s.mu.Lock()
		for name := range s.entries {
			f(name)
		}
		s.mu.Unlock()
	}
}

// status returns the status of a key, if anybody holds it or waits for it.
func (e *Engine) status(k driver.Key, queue bool) (st driver.Status, ok bool) {
	if k.Kind == driver.Latch {
		return e.latchStatus(k)
	}
	s := e.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	en := s.entries[k.Name]
	if en == nil {
		return st, false
	}
	now := e.now()
	e.expireAndServeLocked(s, k.Name, en, now)
	if s.removeIfEmptyLocked(k.Name, en) {
		return st, false
	}
	st.Key = k
	for i := range en.holds {
		h := &en.holds[i]
		st.Holders = append(st.Holders, driver.Holder{
			MayBeIdle: h.recall != nil,
			Token:     h.token,
			Mode:      h.mode,
			Weight:    h.weight,
			Holder:    h.text,
			TTL:       time.Duration(h.expires - now),
			Age:       time.Duration(now - h.granted),
		})
	}
	st.Waiting = en.queue.len()
	if queue && en.queue != nil {
		for w := en.queue.head; w != nil; w = w.next {
			st.Queue = append(st.Queue, driver.Waiter{
				Mode:   w.request.Mode,
				Weight: w.request.Weight,
				Holder: w.request.Holder,
				Age:    time.Duration(now - w.joined),
			})
		}
	}
	return st, true
}
