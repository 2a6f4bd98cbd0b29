package top

import (
	"context"
	"hash/maphash"
	"slices"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// The limits of a look.
const (
	maxRows  = 1000             // how many names the table can show
	maxNames = 200_000          // how many names one look goes through
	maxLook  = 30 * time.Second // how long it may take
)

// picture is what one look has seen.
type picture struct {
	began    time.Time
	took     time.Duration
	view     view
	rows     []row // the first of those that match, in order
	matching int
	names    int
	held     int
	waiting  int
	cut      bool     // there is more than was looked at
	leases   []uint64 // a number for each lease, in order
}

// seed makes the numbers of leases: nobody can know names that collide.
var seed = maphash.MakeSeed()

// progress is how far a look has come. An engine that has to search for names first goes through the keys that it has.
type progress struct{ keys, names int }

// readStep is how many names are read between two reports of progress.
const readStep = 500

// look goes through what the query matches.
func look(ctx context.Context, c *leasehold.Client, q leasehold.Query, v view, report func(progress)) (picture, error) {
	q.Progress = func(searched int) { report(progress{keys: searched}) }
	p := picture{began: time.Now(), view: v}
	bounded, cancel := context.WithTimeout(ctx, maxLook)
	defer cancel()
	for s, err := range c.All(bounded, q) {
		if err != nil {
			if bounded.Err() == nil || ctx.Err() != nil || p.names == 0 {
				return picture{}, err
			}
			p.cut = true // the time is up
			break
		}
		if p.names == maxNames {
			p.cut = true
			break
		}
		p.add(s)
		if p.names%readStep == 0 {
			report(progress{names: p.names})
		}
	}
	p.finish()
	p.took = time.Since(p.began)
	return p, nil
}

// finish puts in order what was added.
func (p *picture) finish() {
	p.settle()
	slices.Sort(p.leases)
}

func (p *picture) add(s leasehold.Status) {
	p.names++
	p.waiting += s.Waiting
	if held(s) {
		p.held++
	}
	for _, h := range s.Holders {
		p.leases = append(p.leases, maphash.String(seed, s.Kind.String()+" "+strconv.FormatUint(h.Token, 10)+" "+s.Name))
	}
	if !p.view.matches(s) {
		return
	}
	p.matching++
	if p.rows = append(p.rows, newRow(s)); len(p.rows) >= 4*maxRows {
		p.settle()
	}
}

// settle puts the rows in order, and keeps the first.
func (p *picture) settle() {
	slices.SortFunc(p.rows, p.view.compare)
	if len(p.rows) > maxRows {
		clear(p.rows[maxRows:])
		p.rows = p.rows[:maxRows]
	}
}

// follow takes over from the picture before what one look cannot know.
func (p *picture) follow(before *picture) {
	known := make(map[driver.Key]row, len(before.rows))
	for _, r := range before.rows {
		known[r.Key] = r
	}
	for i, r := range p.rows {
		if old, ok := known[r.Key]; ok && sameLease(old, r) {
			p.rows[i].full = max(r.full, old.full)
		}
	}
}

// changes counts the leases of b that a does not have, and those of a that b does not have.
func changes(a, b []uint64) (granted, released int) {
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
