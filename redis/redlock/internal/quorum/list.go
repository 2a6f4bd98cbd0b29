package quorum

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// List implements [driver.Engine]. It needs a majority of the nodes. What is held by one holder on a majority is shown as held, and so is what may be, as
// nodes are missing that could make up the majority; who has less, because it has just begun or is about to let go, is not.
func (e *Engine) List(ctx context.Context, q driver.Query) (page []driver.Status, err error) {
	if q.Limit <= 0 {
		q.Limit = 1000
	}
	q.Progress = nil
	err = e.walk(ctx, q, func(piece []driver.Status) bool {
		page = append(page, piece...)
		return true
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// Walk implements [driver.Walker]. Each node is searched once. What a majority is, is as in List; a node that fails in the midst counts as missing from
// there on.
func (e *Engine) Walk(ctx context.Context, q driver.Query, visit func(piece []driver.Status) bool) error {
	q.Limit = math.MaxInt
	return e.walk(ctx, q, visit)
}

// pieceSize is how many names are told in one go.
const pieceSize = 100

// walk tells what the query matches, piece by piece, and no more than its limit. It merges what the nodes tell, each in the order of keys.
func (e *Engine) walk(ctx context.Context, q driver.Query, visit func(piece []driver.Status) bool) error {
	s := open(ctx, e, q, e.tell)
	defer s.end()
	var piece []driver.Status
	for told := 0; ; {
		if err := s.gather(); err != nil {
			return err
		}
		missing, votes := s.missing()
		if len(e.nodes)-missing < e.need {
			return e.unlisted(votes, e.need)
		}
		parts := least(s.all)
		if len(parts) > 0 {
			if st := merge(parts, e.need-missing, e.need); len(st.Holders) > 0 || st.Waiting > 0 {
				piece, told = append(piece, st), told+1
			}
		}
		over := len(parts) == 0 || told == q.Limit
		if len(piece) == pieceSize || over && len(piece) > 0 {
			if !visit(piece) {
				return nil
			}
			piece = nil
		}
		if over {
			return nil
		}
	}
}

// tell has one node tell its part. One that has no search to do is asked for one page after the other.
func (e *Engine) tell(ctx context.Context, n *node, q driver.Query, visit func([]driver.Status) bool) error {
	if w, ok := n.Node.(driver.Walker); ok && n.Abilities().Walk {
		return w.Walk(ctx, q, visit)
	}
	q.Limit = min(q.Limit, 1000)
	for searched := 0; ; {
		var page []driver.Status
		err := e.request(ctx, n, func(ctx context.Context) (err error) {
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

// least takes what the nodes say of the first key that any of them has told of.
func least(all []*stream[[]driver.Status]) (parts []driver.Status) {
	for _, st := range all {
		if st.full && (len(parts) == 0 || st.piece[0].Key.Compare(parts[0].Key) < 0) {
			parts = st.piece[:1:1]
		}
	}
	if len(parts) == 0 {
		return nil
	}
	key := parts[0].Key
	parts = nil
	for _, st := range all {
		if st.full && st.piece[0].Key == key {
			parts = append(parts, st.piece[0])
			if st.piece = st.piece[1:]; len(st.piece) == 0 {
				st.used()
			}
		}
	}
	return parts
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
