package sqlite

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// maxRenewals is how many leases one transaction renews, so that others get their turn in between.
const maxRenewals = 200

// renew is Renew in the goroutine of a worker.
func (e *Engine) renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	for from := 0; from < len(batch); from += maxRenewals {
		part := batch[from:min(from+maxRenewals, len(batch))]
		var held [maxRenewals]bool
		err := e.change(ctx, e.fast, func(v *view) (err error) {
			for i, r := range part {
				if held[i], err = v.renew(r); err != nil {
					return err
				}
			}
			return nil
		})
		for i := range part {
			switch {
			case err != nil:
				report(from+i, err)
			case !held[i]:
				report(from+i, driver.ErrNotHeld)
			default:
				report(from+i, nil)
			}
		}
	}
}

// renew makes a lease last at least its ttl from now. A request that arrives late never shortens a lease.
func (v *view) renew(r driver.Renewal) (held bool, err error) {
	ttl := micros(r.TTL)
	changed, err := v.updateOwn(r.Hold,
		"UPDATE holders SET ttl = max(ttl, ?5), expires = max(expires, ?6)", "AND expires > ?7",
		ttl, v.now+ttl, v.now)
	return changed > 0, err
}

// updateOwn runs a statement on the row by which the owner holds. The arguments of do and condition start at ?5.
func (v *view) updateOwn(h driver.Hold, do, condition string, args ...any) (changed int64, err error) {
	args = append([]any{h.Kind, h.Name, h.Owner, int64(h.Token)}, args...)
	if h.Token != 0 {
		changed, err = v.exec(do+" WHERE kind = ?1 AND name = ?2 AND owner = ?3 AND token = ?4 "+condition, args...)
		if changed > 0 || err != nil {
			return changed, err
		}
	}
	// Without the token, all rows of the key are searched, which are seldom many.
	return v.exec(do+" WHERE kind = ?1 AND name = ?2 AND owner = ?3 AND ?4 IS NOT NULL "+condition, args...)
}

// downgrade is Downgrade in the goroutine of a worker.
func (e *Engine) downgrade(ctx context.Context, h driver.Hold) error {
	return e.changeHolders(ctx, h.Key, func(v *view) (bool, error) {
		changed, err := v.updateOwn(h, "UPDATE holders SET mode = ?5", "AND expires > ?6", driver.Shared, v.now)
		return changed > 0, err
	})
}

// release is Release in the goroutine of a worker.
func (e *Engine) release(ctx context.Context, r driver.Release) error {
	if r.Token == 0 {
		// The core does not know of a grant, so there is most likely nothing to release.
		known, err := e.isKnown(ctx, r.Hold)
		if err != nil {
			return err
		}
		if !known {
			return driver.ErrNotHeld
		}
	}
	return e.changeHolders(ctx, r.Key, func(v *view) (bool, error) {
		_, err := v.exec("DELETE FROM waiters WHERE owner = ? AND kind = ? AND name = ?", r.Owner, r.Kind, r.Name)
		if err != nil {
			return false, err
		}
		if r.Keep > 0 {
			return v.keepHolder(r)
		}
		return v.removeHolder(r.Hold)
	})
}

// removeHolder removes the owner's row, and reports whether its lease had not expired.
func (v *view) removeHolder(h driver.Hold) (held bool, err error) {
	changed, err := v.updateOwn(h, "DELETE FROM holders", "AND expires > ?5", v.now)
	return changed > 0, err
}

// keepHolder keeps the row without an owner.
func (v *view) keepHolder(r driver.Release) (held bool, err error) {
	ttl := micros(r.Keep)
	changed, err := v.updateOwn(r.Hold, "UPDATE holders SET owner = NULL, ttl = ?5, expires = ?6", "AND expires > ?7",
		ttl, v.now+ttl, v.now)
	return changed > 0, err
}

// isKnown reports whether the owner holds or waits. It locks nobody out.
func (e *Engine) isKnown(ctx context.Context, h driver.Hold) (known bool, err error) {
	err = e.read(ctx, func(v *view) error {
		return v.row([]any{&known}, `
			SELECT EXISTS (SELECT 1 FROM holders WHERE kind = ?1 AND name = ?2 AND owner = ?3)
			    OR EXISTS (SELECT 1 FROM waiters WHERE owner = ?3 AND kind = ?1 AND name = ?2)`,
			h.Kind, h.Name, h.Owner)
	})
	return known, err
}

// forceRelease is ForceRelease in the goroutine of a worker. Any token of the holder's range identifies it.
func (e *Engine) forceRelease(ctx context.Context, k driver.Key, token uint64) error {
	if token > driver.MaxToken {
		return driver.ErrNotHeld
	}
	return e.changeHolders(ctx, k, func(v *view) (bool, error) {
		changed, err := v.exec(`
			DELETE FROM holders
			WHERE kind = ?1 AND name = ?2 AND token <= ?3 AND ?3 < token + tokens AND expires > ?4`,
			k.Kind, k.Name, int64(token), v.now)
		return changed > 0, err
	})
}

// changeHolders runs a change after which waiters may be granted the key, and checks for them at once. It returns
// driver.ErrNotHeld if f reports that nothing was held.
func (e *Engine) changeHolders(ctx context.Context, k driver.Key, f func(*view) (held bool, err error)) error {
	var held bool
	err := e.change(ctx, e.fast, func(v *view) (err error) {
		held, err = f(v)
		return err
	})
	e.watcher.noteChanged(k)
	if err == nil && !held {
		err = driver.ErrNotHeld
	}
	return err
}
