package top

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold"
)

// row is one name in the table.
type row struct {
	leasehold.Status
	ttl  time.Duration // the least that is left of any lease; negative if none has an end
	full time.Duration // the most that was seen to be left of this lease
	age  time.Duration // for how long the one who has held for the longest has; negative if not known
}

func newRow(s leasehold.Status) row {
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
	r.full = r.ttl
	return r
}

// held reports whether anybody holds it, as leasehold check has it.
func held(s leasehold.Status) bool { return len(s.Holders) > 0 || s.Latch != nil && s.Latch.Count > 0 }

// sameLease reports whether nothing but time has gone by.
func sameLease(a, b row) bool {
	return len(a.Holders) > 0 && len(a.Holders) == len(b.Holders) && a.Holders[0].Token == b.Holders[0].Token
}

// sorting is an order of the table.
type sorting uint8

const (
	byWaiting sorting = iota
	byAge
	byName
	byTTL
)

func (s sorting) String() string { return [...]string{"waiting", "held for", "name", "ttl"}[s] }

// view is what of an engine is shown, and in which order.
type view struct {
	sort     sorting
	reversed bool
	filter   string
}

// matches reports whether a name, or the text about one of its holders, contains the filter, in capitals or not.
func (v view) matches(s leasehold.Status) bool {
	if v.filter == "" {
		return true
	}
	want := strings.ToLower(v.filter)
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), want) }
	return has(s.Name) || slices.ContainsFunc(s.Holders, func(h leasehold.Holder) bool { return has(h.Holder) })
}

// compare says which of two rows stands first. No two names are equal.
func (v view) compare(a, b row) int {
	n := 0
	switch v.sort {
	case byWaiting:
		n = cmp.Compare(b.Waiting, a.Waiting)
	case byAge:
		n = cmp.Compare(b.age, a.age)
	case byTTL:
		n = cmp.Compare(a.ends(), b.ends())
	}
	n = cmp.Or(n, strings.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	if v.reversed {
		return -n
	}
	return n
}

// ends is when it ends, as a number to sort by.
func (r row) ends() time.Duration {
	if r.ttl < 0 {
		return math.MaxInt64
	}
	return r.ttl
}

// arrange returns those of the rows that match, in order.
func arrange(rows []row, v view) []row {
	out := make([]row, 0, len(rows))
	for _, r := range rows {
		if v.matches(r.Status) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, v.compare)
	return out
}
