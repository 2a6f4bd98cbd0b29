package postgres

import (
	"context"
	"strconv"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

// leakQueries returns the queries that find leaks of a kind, by sort. They find what is more than 5 s old, because a
// name that is in use clears such rows away by itself.
func (e *Engine) leakQueries(kind driver.Kind) map[driver.LeakSort]string {
	if kind == driver.Latch {
		return map[driver.LeakSort]string{driver.Remains: e.statements.latchLeaks}
	}
	return map[driver.LeakSort]string{
		driver.Remains:     e.statements.holderLeaks,
		driver.DeadWaiters: e.statements.waiterLeaks,
	}
}

// Leaks implements [driver.Operator]. Leaks of this engine take a little room and block nobody.
func (e *Engine) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	q.After = driver.Key{}
	for kind := range paging.Kinds(q) {
		sorts := e.leakQueries(kind)
		for _, sort := range driver.LeakSorts {
			if sorts[sort] == "" {
				continue
			}
			leak := driver.Leak{Key: driver.Key{Kind: kind}, Sort: sort}
			if more, err := e.listLeaks(ctx, leak, sorts[sort], q, visit); err != nil || !more {
				return err
			}
		}
	}
	return ctx.Err()
}

// listLeaks visits what a query finds, page by page, and reports whether more is wanted. Nothing is locked meanwhile.
func (e *Engine) listLeaks(
	ctx context.Context, l driver.Leak, query string, q driver.Query, visit func(driver.Leak) bool,
) (more bool, err error) {
	return paging.Leaks(q, func(q driver.Query) (page []driver.Leak, err error) {
		from, to, some := bounds(q, l.Kind)
		if !some {
			return nil, nil
		}
		err = e.inTransaction(ctx, toLook, readOnlySnapshot, func(tx pgx.Tx) error {
			var mark int64
			return forEachRow(ctx, tx, []any{&l.Name, &l.Count, &mark}, func() {
				l.Mark = strconv.FormatInt(mark, 10)
				page = append(page, l)
			}, query, int16(l.Kind), from, to, int32(paging.PageSize))
		})
		return page, err
	}, visit)
}

// Sweep implements [driver.Operator].
func (e *Engine) Sweep(ctx context.Context, l driver.Leak) error {
	mark, err := strconv.ParseInt(l.Mark, 10, 64)
	if err != nil || e.leakQueries(l.Kind)[l.Sort] == "" || l.Kind == 0 || !utf8.ValidString(l.Name) {
		return driver.ErrNotHeld
	}
	return e.runEnd(ctx, e.statements.sweepLeak, int16(l.Kind), l.Name, l.Sort == driver.DeadWaiters, mark)
}
