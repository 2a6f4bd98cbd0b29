// Package paging has what engines share that list names and leaks.
package paging

import (
	"iter"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// PageSize is the largest number of entries in a page, unless the query has a limit.
const PageSize = 1000

// Collect returns one page of what walk visits. Walk keeps to the limit of the query that it gets.
func Collect(
	q driver.Query, walk func(q driver.Query, visit func(piece []driver.Status) bool) error,
) (page []driver.Status, err error) {
	q.Limit, q.Progress = Limit(q), nil
	err = walk(q, func(piece []driver.Status) bool {
		page = append(page, piece...)
		return true
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// Limit returns the largest number of entries that the query wants.
func Limit(q driver.Query) int {
	if q.Limit <= 0 {
		return PageSize
	}
	return q.Limit
}

// Kinds returns the kinds that the query wants, in order.
func Kinds(q driver.Query) iter.Seq[driver.Kind] {
	return func(yield func(driver.Kind) bool) {
		for _, kind := range driver.Kinds {
			if (q.Kind == 0 || q.Kind == kind) && kind >= q.After.Kind && !yield(kind) {
				return
			}
		}
	}
}

// Keys returns the keys that the query wants if it has a name.
func Keys(q driver.Query) (keys []driver.Key) {
	for kind := range Kinds(q) {
		if k := (driver.Key{Kind: kind, Name: q.Name}); Matches(q, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// Matches reports whether the query wants a key.
func Matches(q driver.Query, k driver.Key) bool {
	return (q.Kind == 0 || q.Kind == k.Kind) && (q.Name == "" || q.Name == k.Name) &&
		strings.HasPrefix(k.Name, q.Prefix) && k.Compare(q.After) > 0
}

// Bounds returns the first name of a kind that the query wants, and the first behind it that the
// query does not want, in the order of bytes. No name contains a zero byte, nor 0xff, which UTF-8
// never uses. Neither bound is followed by a zero byte, so a key that appends one and more to a name
// is within the same bounds as the name.
func Bounds(q driver.Query, kind driver.Kind) (from, to string) {
	from, to = q.Prefix, q.Prefix+"\xff"
	if q.Name != "" {
		from, to = max(from, q.Name), min(to, q.Name+"\x01")
	}
	if kind == q.After.Kind {
		from = max(from, q.After.Name+"\x01")
	}
	return from, to
}

// Leaks reads one page of leaks after the other, each of up to [PageSize], and visits them. It
// reports whether visit wants more. Read returns those that the query wants, in order.
func Leaks(
	q driver.Query, read func(q driver.Query) ([]driver.Leak, error), visit func(driver.Leak) bool,
) (more bool, _ error) {
	for {
		page, err := read(q)
		if err != nil {
			return false, err
		}
		for _, l := range page {
			if !visit(l) {
				return false, nil
			}
		}
		if len(page) < PageSize {
			return true, nil
		}
		q.After = page[len(page)-1].Key
	}
}
