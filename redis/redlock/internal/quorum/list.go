package quorum

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// List implements [driver.Engine]. It needs a majority of the nodes. What is held by one holder on a majority is shown as held, and so is what may be, as
// nodes are missing that could make up the majority; who has less, because it has just begun or is about to let go, is not.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	if q.Limit <= 0 {
		q.Limit = 1000
	}
	var all []driver.Status
	for {
		pages, p, err := look(ctx, e, func(ctx context.Context, n *node) ([]driver.Status, error) { return n.List(ctx, q) })
		if err != nil {
			return nil, err
		}
		if p.yes < e.need {
			return nil, e.unlisted(p)
		}
		end, more := common(pages, q.Limit)
		missing := len(e.nodes) - p.yes
		for _, parts := range together(pages) {
			if more && parts[0].Key.Compare(end) > 0 {
				break
			}
			if s := merge(parts, e.need-missing, e.need); len(s.Holders) > 0 || s.Waiting > 0 {
				all = append(all, s)
			}
		}
		if !more || len(all) >= q.Limit {
			return all[:min(len(all), q.Limit)], nil
		}
		q.After = end
	}
}

// unlisted is the error of a listing that too few nodes have answered.
func (e *Engine) unlisted(p *poll) error {
	var others []string
	for _, v := range p.votes {
		if v.Answer != Granted { // which is what any other answer than an error is called
			others = append(others, v.String())
		}
	}
	return driver.NoEffect(fmt.Errorf("%d of %d nodes have answered, %d must: %s", p.yes, len(e.nodes), e.need, strings.Join(others, "; ")))
}

// common is the key up to which all pages go, if some of them end because they are full: what comes behind it may be missing there.
func common(pages [][]driver.Status, limit int) (end driver.Key, full bool) {
	for _, page := range pages {
		if len(page) < limit {
			continue
		}
		if last := page[len(page)-1].Key; !full || last.Compare(end) < 0 {
			end, full = last, true
		}
	}
	return end, full
}

// together puts what is said of the same key beside each other, in the order of keys.
func together(pages [][]driver.Status) (all [][]driver.Status) {
	at := map[driver.Key]int{}
	for _, page := range pages {
		for _, s := range page {
			i, known := at[s.Key]
			if !known {
				i = len(all)
				at[s.Key], all = i, append(all, nil)
			}
			all[i] = append(all[i], s)
		}
	}
	slices.SortFunc(all, func(a, b []driver.Status) int { return a[0].Key.Compare(b[0].Key) })
	return all
}

// look asks all nodes, waits for all of them, and returns what each has answered, if it has.
func look[T any](ctx context.Context, e *Engine, ask func(context.Context, *node) (T, error)) ([]T, *poll, error) {
	var mu sync.Mutex // who is too late may still write when the answers are read
	answers := make([]T, len(e.nodes))
	p := e.poll()
	for _, n := range e.nodes {
		p.send(ctx, n, func(ctx context.Context) error {
			answer, err := ask(ctx, n)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				answers[n.index] = answer
			}
			return err
		})
	}
	err := p.await(ctx, func() bool { return false })
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(answers), p, err
}

// merge puts together what the nodes say of one name. A holder is who is known to hold on least nodes: it has need of them, if those are counted that
// are not known.
func merge(parts []driver.Status, least, need int) driver.Status {
	s := driver.Status{Key: parts[0].Key}
	by := map[uint64][]driver.Holder{} // by token
	var most []driver.Holder
	for _, part := range parts {
		for _, h := range part.Holders {
			same := append(by[h.Token], h)
			by[h.Token] = same
			if len(same) > len(most) {
				most = same
			}
		}
		if part.Waiting > s.Waiting { // one of them is the arbiter
			s.Waiting, s.Queue = part.Waiting, part.Queue
		}
	}
	if len(most) >= least {
		// It is held until the moment at which fewer than a majority do.
		slices.SortFunc(most, func(a, b driver.Holder) int { return cmp.Compare(b.TTL, a.TTL) })
		s.Holders = []driver.Holder{most[min(len(most), need)-1]}
	}
	return s
}
