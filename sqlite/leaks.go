package sqlite

import (
	"context"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

// leakAge is how long something must have been of no use to count as a leak: in a file that is in use, it is removed
// earlier.
const leakAge = 5 * time.Second

// leakQueries find leaks of the names of a kind. They return the name, the number of rows, and a number that only later
// rows exceed.
var leakQueries = map[driver.LeakSort]string{
	driver.Remains: `
		SELECT name, count(*), max(token) FROM holders
		WHERE kind = ?1 AND name >= ?2 AND name < ?3 AND expires <= ?4 GROUP BY name ORDER BY name LIMIT ?5`,
	driver.DeadWaiters: `
		SELECT name, count(*), max(seq) FROM waiters
		WHERE kind = ?1 AND name >= ?2 AND name < ?3 AND alive_until <= ?4 GROUP BY name ORDER BY name LIMIT ?5`,
}

const latchLeakQuery = `
	SELECT name, 1, generation FROM latches
	WHERE ?1 AND name >= ?2 AND name < ?3 AND expires <= ?4 ORDER BY name LIMIT ?5`

// Leaks implements [driver.Operator]. Leaks of this engine take a little room in the file, and are in nobody's way.
func (e *Engine) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	q.After = driver.Key{}
	for kind := range paging.Kinds(q) {
		for _, sort := range driver.LeakSorts {
			query := leakQueries[sort]
			if kind == driver.Latch {
				query = ""
				if sort == driver.Remains {
					query = latchLeakQuery
				}
			}
			if query == "" {
				continue
			}
			leak := driver.Leak{Key: driver.Key{Kind: kind}, Sort: sort}
			if more, err := e.visitLeaks(ctx, leak, query, q, visit); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// visitLeaks passes what a query finds to visit, a page at a time, and reports whether visit wants more. Nothing is
// locked while visit runs.
func (e *Engine) visitLeaks(
	ctx context.Context, l driver.Leak, query string, q driver.Query, visit func(driver.Leak) bool,
) (more bool, err error) {
	return paging.Leaks(q, func(q driver.Query) ([]driver.Leak, error) {
		return inTime(ctx, e, func(ctx context.Context) ([]driver.Leak, error) { return e.readLeaks(ctx, l, query, q) })
	}, visit)
}

// readLeaks returns a page of what a query finds.
func (e *Engine) readLeaks(
	ctx context.Context, l driver.Leak, query string, q driver.Query,
) (page []driver.Leak, err error) {
	from, to := paging.Bounds(q, l.Kind)
	err = e.read(ctx, func(v *view) error {
		page = nil
		var mark int64
		return v.forEach([]any{&l.Name, &l.Count, &mark}, func() bool {
			l.Mark = strconv.FormatInt(mark, 10)
			page = append(page, l)
			return true
		}, query, l.Kind, from, to, v.now-micros(leakAge), paging.PageSize)
	})
	return page, err
}

// sweep is Sweep in the goroutine of a worker.
func (e *Engine) sweep(ctx context.Context, l driver.Leak) error {
	mark, err := strconv.ParseInt(l.Mark, 10, 64)
	if err != nil {
		return driver.ErrNotHeld
	}
	var queries []string
	switch {
	case l.Sort == driver.Remains && l.Kind == driver.Latch:
		queries = []string{
			`DELETE FROM latch_downs WHERE ?1 AND name = ?2 AND
				EXISTS (SELECT 1 FROM latches WHERE name = ?2 AND generation = ?3 AND expires <= ?4)`,
			"DELETE FROM latches WHERE ?1 AND name = ?2 AND generation = ?3 AND expires <= ?4",
		}
	case l.Sort == driver.Remains:
		queries = []string{"DELETE FROM holders WHERE kind = ?1 AND name = ?2 AND token <= ?3 AND expires <= ?4"}
	case l.Sort == driver.DeadWaiters:
		queries = []string{"DELETE FROM waiters WHERE kind = ?1 AND name = ?2 AND seq <= ?3 AND alive_until <= ?4"}
	}
	return e.changeHolders(ctx, l.Key, func(v *view) (swept bool, err error) {
		for _, query := range queries {
			changed, err := v.exec(query, l.Kind, l.Name, mark, v.now-micros(leakAge))
			if err != nil {
				return false, err
			}
			swept = changed > 0
		}
		return swept, nil
	})
}
