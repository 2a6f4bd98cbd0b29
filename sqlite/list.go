package sqlite

import (
	"context"
	"database/sql"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

// list is List in the goroutine of a worker. All entries of one listing existed at the same moment.
func (e *Engine) list(ctx context.Context, q driver.Query) (page []driver.Status, err error) {
	q.Limit = paging.Limit(q)
	err = e.read(ctx, func(v *view) error {
		if _, err := v.exec("BEGIN"); err != nil {
			return err
		}
		defer v.rollback() // nothing was changed
		page, err = v.list(ctx, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

func (v *view) list(ctx context.Context, q driver.Query) (page []driver.Status, err error) {
	keys, err := v.keys(q)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		st, err := v.status(k, q.Queue)
		if err != nil {
			return nil, err
		}
		page = append(page, st)
	}
	return page, nil
}

// keys returns the first keys that match the query, in order.
func (v *view) keys(q driver.Query) (keys []driver.Key, err error) {
	for kind := range paging.Kinds(q) {
		from, to := paging.Bounds(q, kind)
		query := `
			SELECT name FROM holders WHERE kind = ?1 AND name >= ?2 AND name < ?3 AND expires > ?4
			UNION
			SELECT name FROM waiters WHERE kind = ?1 AND name >= ?2 AND name < ?3 AND alive_until > ?4
			ORDER BY name LIMIT ?5`
		if kind == driver.Latch {
			query = `
				SELECT name FROM latches
				WHERE ?1 AND name >= ?2 AND name < ?3 AND expires > ?4 AND generation > 0 AND count >= 0
				ORDER BY name LIMIT ?5`
		}
		k := driver.Key{Kind: kind}
		err := v.forEach([]any{&k.Name}, func() bool {
			keys = append(keys, k)
			return true
		}, query, kind, from, to, v.now, q.Limit-len(keys))
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// status returns the state of a key.
func (v *view) status(k driver.Key, queue bool) (st driver.Status, err error) {
	st.Key = k
	if k.Kind == driver.Latch {
		l, err := v.readLatch(k.Name)
		st.Latch = &l.LatchState
		return st, err
	}
	if st.Holders, err = v.holders(k); err != nil {
		return st, err
	}
	if queue {
		st.Queue, err = v.queue(k)
		st.Waiting = len(st.Queue)
		return st, err
	}
	err = v.row([]any{&st.Waiting}, "SELECT count(*) FROM waiters WHERE kind = ? AND name = ? AND alive_until > ?",
		k.Kind, k.Name, v.now)
	return st, err
}

func (v *view) holders(k driver.Key) (holders []driver.Holder, err error) {
	var h driver.Holder
	var expires int64
	var granted sql.NullInt64
	err = v.forEach([]any{&h.Token, &h.Mode, &h.Weight, &h.Holder, &expires, &granted}, func() bool {
		h.TTL, h.Age = duration(expires-v.now), -1
		if granted.Valid && 0 <= granted.Int64 && granted.Int64 <= v.now {
			h.Age = duration(v.now - granted.Int64)
		}
		holders = append(holders, h)
		return true
	}, `
		SELECT iif(token BETWEEN 1 AND 9007199254740991, token, 0), mode <> 0, weight, holder, expires, granted
		FROM holders
		WHERE kind = ? AND name = ? AND expires > ? ORDER BY token`, k.Kind, k.Name, v.now)
	return holders, err
}

// queue returns the waiters of a key, in the order in which they will be served.
func (v *view) queue(k driver.Key) (queue []driver.Waiter, err error) {
	var w driver.Waiter
	var joined int64
	err = v.forEach([]any{&w.Mode, &w.Weight, &w.Holder, &joined}, func() bool {
		w.Age = max(duration(v.now-max(joined, 0)), 0)
		queue = append(queue, w)
		return true
	}, `
		SELECT mode <> 0, weight, holder, joined FROM waiters
		WHERE kind = ? AND name = ? AND alive_until > ? ORDER BY seq`, k.Kind, k.Name, v.now)
	return queue, err
}
