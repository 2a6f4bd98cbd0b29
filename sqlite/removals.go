package sqlite

import (
	"context"
	_ "embed"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

//go:embed removals.sql
var removals string

// record is Record in the goroutine of a worker. A crash of the machine may lose the record, but only together with the
// forced release that follows it: later commits are lost first.
func (e *Engine) record(ctx context.Context, r driver.Removal) error {
	return e.change(ctx, e.fast, func(v *view) error {
		_, err := v.exec(`
			INSERT OR REPLACE INTO removals (id, at, kind, name, token, holder, who, why, outcome)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.ID, r.At.UnixMicro(), r.Kind, r.Name, int64(r.Token), r.Holder, r.By, r.Why, r.Outcome)
		if err != nil {
			return err
		}
		_, err = v.exec(`
			DELETE FROM removals WHERE id IN
				(SELECT id FROM removals ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)`, driver.MaxRemovals)
		return err
	})
}

// records is Records in the goroutine of a worker.
func (e *Engine) records(ctx context.Context, limit int) (all []driver.Removal, err error) {
	if limit <= 0 {
		limit = driver.MaxRemovals
	}
	err = e.read(ctx, func(v *view) error {
		all = nil
		var r driver.Removal
		var at int64
		dest := []any{&r.ID, &at, &r.Kind, &r.Name, &r.Token, &r.Holder, &r.By, &r.Why, &r.Outcome}
		return v.forEach(dest, func() bool {
			r.At = time.UnixMicro(at).UTC()
			all = append(all, r)
			return true
		}, `
			SELECT id, at, kind, name, token, holder, who, why, outcome FROM removals
			WHERE kind BETWEEN 1 AND 3 AND token BETWEEN 0 AND 9007199254740991 AND outcome BETWEEN 0 AND 255
			ORDER BY at DESC, id DESC LIMIT ?`, limit)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
