package top

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/admin"
)

// row is one name in the table.
type row struct {
	admin.Status
	ttl    time.Duration // the shortest remaining time of its leases; negative if none expires
	maxTTL time.Duration // the longest remaining time seen of this lease
	age    time.Duration // how long the longest holder has held it; negative if not known
}

func newRow(s admin.Status) row {
	r := row{Status: s, ttl: -1, age: -1}
	if s.Latch != nil {
		r.ttl = s.Latch.TTL
	}
	for _, h := range s.Holders {
		if h.TTL >= 0 && (r.ttl < 0 || h.TTL < r.ttl) {
			r.ttl = h.TTL
		}
		r.age = max(r.age, h.Age)
	}
	r.maxTTL = r.ttl
	return r
}

// isHeld reports whether anybody holds the name, by the rule of leasehold check.
func isHeld(s admin.Status) bool {
	return len(s.Holders) > 0 || s.Latch != nil && s.Latch.Count > 0
}

// sameLease reports whether both rows are about the same lease.
func sameLease(a, b row) bool {
	return len(a.Holders) > 0 && len(a.Holders) == len(b.Holders) && a.Holders[0].Token == b.Holders[0].Token
}

// sortOrder is an order of the table.
type sortOrder uint8

const (
	byWaiting sortOrder = iota
	byAge
	byName
	byTTL
)

func (s sortOrder) String() string { return [...]string{"waiting", "held for", "name", "ttl"}[s] }

// view says which names the table shows, and in which order.
type view struct {
	sort     sortOrder
	reversed bool
	filter   string
}

// matches reports whether the name or one of its holder texts contains the filter, ignoring case.
func (v view) matches(s admin.Status) bool {
	if v.filter == "" {
		return true
	}
	want := strings.ToLower(v.filter)
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), want) }
	return has(s.Name) || slices.ContainsFunc(s.Holders, func(h admin.Holder) bool { return has(h.Holder) })
}

// compare returns the order of two rows. No two names are equal.
func (v view) compare(a, b row) int {
	n := 0
	switch v.sort {
	case byWaiting:
		n = cmp.Compare(b.Waiting, a.Waiting)
	case byAge:
		n = cmp.Compare(b.age, a.age)
	case byTTL:
		n = cmp.Compare(a.sortTTL(), b.sortTTL())
	}
	n = cmp.Or(n, strings.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	if v.reversed {
		return -n
	}
	return n
}

// sortTTL returns the remaining time as a number to sort by.
func (r row) sortTTL() time.Duration {
	if r.ttl < 0 {
		return math.MaxInt64
	}
	return r.ttl
}

// filterAndSort returns the rows that match, in order.
func filterAndSort(rows []row, v view) []row {
	out := make([]row, 0, len(rows))
	for _, r := range rows {
		if v.matches(r.Status) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, v.compare)
	return out
}
