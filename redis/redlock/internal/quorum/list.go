package quorum

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

// List implements [driver.Engine]. It needs a majority of the nodes. A name that one holder has on a majority is listed
// as held, and so is one that it may have there, because of nodes that have not answered. An owner that has fewer nodes
// is not listed: it has just begun, or is about to release.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	return paging.Collect(q, func(q driver.Query, visit func(page []driver.Status) bool) error {
		return e.listMerged(ctx, q, visit)
	})
}

// Walk implements [driver.Operator]. Each node is searched once. Majorities count as in List; a node that fails
// on the way counts as missing from there on.
func (e *Engine) Walk(ctx context.Context, q driver.Query, visit func(page []driver.Status) bool) error {
	q.Limit = math.MaxInt
	return e.listMerged(ctx, q, visit)
}

// pageSize is how many names are visited at a time.
const pageSize = 100

// listMerged visits what the query matches, page by page, up to its limit. It merges what the nodes find, each in the
// order of keys.
func (e *Engine) listMerged(ctx context.Context, q driver.Query, visit func(page []driver.Status) bool) error {
	s := startSearches(ctx, e, q, e.listNode)
	defer s.cancel()
	var page []driver.Status
	for listed := 0; ; {
		if err := s.awaitItems(); err != nil {
			return err
		}
		failed, votes := s.failedNodes()
		if len(e.nodes)-failed < e.majority {
			return e.errTooFewAnswered(votes, e.majority)
		}
		parts := takeFirstKey(s.all)
		if len(parts) > 0 {
			if st := mergeStatus(parts, e.majority-failed, e.majority); len(st.Holders) > 0 || st.Waiting > 0 {
				page, listed = append(page, st), listed+1
			}
		}
		done := len(parts) == 0 || listed == q.Limit
		if len(page) == pageSize || done && len(page) > 0 {
			if !visit(page) {
				return nil
			}
			page = nil
		}
		if done {
			return nil
		}
	}
}

// listNode lists what one node has. A node that need not search is asked for one page after the other.
func (e *Engine) listNode(ctx context.Context, n *node, q driver.Query, visit func([]driver.Status) bool) error {
	if n.Abilities().Walk {
		return n.Walk(ctx, q, visit)
	}
	q.Limit = min(q.Limit, paging.PageSize)
	for searched := 0; ; {
		var page []driver.Status
		err := e.sendRequest(ctx, n, func(ctx context.Context) (err error) {
			page, err = n.List(ctx, q)
			return err
		})
		searched += len(page)
		q.Progress(searched)
		if err != nil || len(page) == 0 || !visit(page) {
			return err
		}
		q.After = page[len(page)-1].Key
	}
}

// takeFirstKey removes the first key from the pages of the nodes, and returns what each node says of it.
func takeFirstKey(all []*nodeSearch[[]driver.Status]) (parts []driver.Status) {
	for _, ns := range all {
		if ns.hasItem && (len(parts) == 0 || ns.item[0].Key.Compare(parts[0].Key) < 0) {
			parts = ns.item[:1:1]
		}
	}
	if len(parts) == 0 {
		return nil
	}
	key := parts[0].Key
	parts = nil
	for _, ns := range all {
		if ns.hasItem && ns.item[0].Key == key {
			parts = append(parts, ns.item[0])
			if ns.item = ns.item[1:]; len(ns.item) == 0 {
				ns.finishItem()
			}
		}
	}
	return parts
}

// askAll asks all nodes, waits for all of them, and returns the answers, by node.
func askAll[T any](
	ctx context.Context, e *Engine, ask func(context.Context, *node) (T, error),
) ([]T, *fanOut, error) {
	var mu sync.Mutex // a late node may still write when the answers are read
	answers := make([]T, len(e.nodes))
	f := e.newFanOut()
	for _, n := range e.nodes {
		f.send(ctx, n, func(ctx context.Context) error {
			answer, err := ask(ctx, n)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				answers[n.index] = answer
			}
			return err
		})
	}
	err := f.awaitAnswers(ctx, func() bool { return false })
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(answers), f, err
}

// mergeStatus merges what the nodes say of one name. A holder is listed if at least minNodes nodes know it. With the
// nodes that have failed it may then have a majority.
func mergeStatus(parts []driver.Status, minNodes, majority int) driver.Status {
	s := driver.Status{Key: parts[0].Key}
	byToken := map[uint64][]driver.Holder{}
	var most []driver.Holder
	for _, part := range parts {
		for _, h := range part.Holders {
			same := append(byToken[h.Token], h)
			byToken[h.Token] = same
			if len(same) > len(most) {
				most = same
			}
		}
		if part.Waiting > s.Waiting { // one of the nodes is the arbiter
			s.Waiting, s.Queue = part.Waiting, part.Queue
		}
	}
	if len(most) >= minNodes {
		// The name is held until fewer nodes than a majority hold it.
		slices.SortFunc(most, func(a, b driver.Holder) int { return cmp.Compare(b.TTL, a.TTL) })
		s.Holders = []driver.Holder{most[min(len(most), majority)-1]}
	}
	return s
}
