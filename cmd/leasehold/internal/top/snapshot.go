package top

import (
	"context"
	"hash/maphash"
	"slices"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// The limits of a listing.
const (
	maxRows     = 1000             // how many names the table can show
	maxNames    = 200_000          // how many names are read
	maxListTime = 30 * time.Second // how long it may take
)

// snapshot is the result of one listing.
type snapshot struct {
	began    time.Time
	took     time.Duration
	view     view
	rows     []row // the first of those that match, in order
	matching int
	names    int
	held     int
	waiting  int
	cut      bool     // not all names were read
	leases   []uint64 // a hash of each lease, sorted
}

// leaseSeed is the seed of the hashes: nobody can choose names that collide.
var leaseSeed = maphash.MakeSeed()

// progress is how far a listing has come. An engine that has to search for names first goes through its keys.
type progress struct{ keys, names int }

// progressStep is how many names are read between two reports of progress.
const progressStep = 500

// takeSnapshot lists the names that match the query.
func takeSnapshot(
	ctx context.Context, c *admin.Client, q admin.Query, v view, report func(progress),
) (snapshot, error) {
	q.Progress = func(searched int) { report(progress{keys: searched}) }
	p := snapshot{began: time.Now(), view: v}
	bounded, cancel := context.WithTimeout(ctx, maxListTime)
	defer cancel()
	for s, err := range c.All(bounded, q) {
		if err != nil {
			if bounded.Err() == nil || ctx.Err() != nil || p.names == 0 {
				return snapshot{}, err
			}
			p.cut = true // the time is up
			break
		}
		if p.names == maxNames {
			p.cut = true
			break
		}
		p.add(s)
		if p.names%progressStep == 0 {
			report(progress{names: p.names})
		}
	}
	p.finish()
	p.took = time.Since(p.began)
	return p, nil
}

// finish sorts what was added.
func (p *snapshot) finish() {
	p.keepFirst()
	slices.Sort(p.leases)
}

func (p *snapshot) add(s admin.Status) {
	p.names++
	p.waiting += s.Waiting
	if isHeld(s) {
		p.held++
	}
	for _, h := range s.Holders {
		p.leases = append(p.leases,
			maphash.String(leaseSeed, s.Kind.String()+" "+strconv.FormatUint(h.Token, 10)+" "+s.Name))
	}
	if !p.view.matches(s) {
		return
	}
	p.matching++
	if p.rows = append(p.rows, newRow(s)); len(p.rows) >= 4*maxRows {
		p.keepFirst()
	}
}

// keepFirst sorts the rows and keeps the first maxRows.
func (p *snapshot) keepFirst() {
	slices.SortFunc(p.rows, p.view.compare)
	if len(p.rows) > maxRows {
		clear(p.rows[maxRows:])
		p.rows = p.rows[:maxRows]
	}
}

// carryOver takes over from the earlier snapshot what one listing cannot know.
func (p *snapshot) carryOver(before *snapshot) {
	known := make(map[driver.Key]row, len(before.rows))
	for _, r := range before.rows {
		known[r.Key] = r
	}
	for i, r := range p.rows {
		if old, ok := known[r.Key]; ok && sameLease(old, r) {
			p.rows[i].maxTTL = max(r.maxTTL, old.maxTTL)
		}
	}
}

// countChanges returns how many leases are only in b, and how many are only in a.
func countChanges(a, b []uint64) (granted, released int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			released++
			a = a[1:]
		default:
			granted++
			b = b[1:]
		}
	}
	return granted + len(b), released + len(a)
}
