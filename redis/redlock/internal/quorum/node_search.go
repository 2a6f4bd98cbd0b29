package quorum

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// searches are the searches of all nodes for the same. A T is what a search finds at a time: a page of a
// listing, or a leak. A node is asked once. It goes on when its last item has been used, and is given up when
// it gives no sign of life for as long as a request may take. One goroutine uses the searches.
type searches[T any] struct {
	engine   *Engine
	all      []*nodeSearch[T]
	events   chan searchEvent[T]
	progress func(searched int)
	ctx      context.Context
	cancel   context.CancelFunc // ends them all
}

// nodeSearch is the search of one node.
type nodeSearch[T any] struct {
	node     *node
	cancel   context.CancelFunc
	more     chan struct{} // lets the node go on
	lastSign time.Time     // of life, or when waiting for the node began
	searched int
	item     T
	hasItem  bool
	paused   bool // it waits until it may go on
	done     bool // no more items come
	err      error
}

// searchEvent is a sign of life of a node: an item, the end, or how much it has searched.
type searchEvent[T any] struct {
	from     *nodeSearch[T]
	searched int
	item     T
	hasItem  bool
	done     bool
	err      error
}

// startSearches asks all nodes; search asks one of them.
func startSearches[T any](
	ctx context.Context, e *Engine, q driver.Query,
	search func(ctx context.Context, n *node, q driver.Query, visit func(T) bool) error,
) *searches[T] {
	s := &searches[T]{engine: e, events: make(chan searchEvent[T]), progress: q.Progress}
	s.ctx, s.cancel = context.WithCancel(ctx)
	for _, n := range e.nodes {
		ns := &nodeSearch[T]{node: n, more: make(chan struct{}, 1)}
		s.all = append(s.all, ns)
		var nodeCtx context.Context
		nodeCtx, ns.cancel = context.WithCancel(s.ctx)
		send := func(ev searchEvent[T]) bool {
			ev.from = ns
			select {
			case s.events <- ev:
				return true
			case <-nodeCtx.Done():
				return false
			}
		}
		own := q
		own.Progress = func(searched int) { send(searchEvent[T]{searched: searched}) }
		if !e.goInBackground(func() {
			defer context.AfterFunc(e.ctx, ns.cancel)()
			err := errNodeSilent
			if n.beginRequest() {
				defer n.endRequest()
				err = search(nodeCtx, n, own, func(item T) bool {
					if !send(searchEvent[T]{item: item, hasItem: true}) {
						return false
					}
					select {
					case <-ns.more:
						return true
					case <-nodeCtx.Done():
						return false
					}
				})
			}
			send(searchEvent[T]{done: true, err: err})
		}) {
			ns.done, ns.err = true, errClosed
		}
	}
	return s
}

// awaitItems waits until each node has an item, or has no more, or is given up.
func (s *searches[T]) awaitItems() error {
	for _, ns := range s.all {
		if ns.paused {
			ns.paused = false
			ns.more <- struct{}{}
		}
		ns.lastSign = time.Now() // nobody has received events so far
	}
	timeout := time.NewTimer(s.engine.answerTimeout())
	defer timeout.Stop()
	for first := s.longestSilentSince(); !first.IsZero(); first = s.longestSilentSince() {
		timeout.Reset(time.Until(first.Add(s.engine.answerTimeout())))
		select {
		case ev := <-s.events:
			s.noteEvent(ev)
		case <-timeout.C:
			for _, ns := range s.all {
				if !ns.done && !ns.hasItem && time.Since(ns.lastSign) >= s.engine.answerTimeout() {
					ns.done, ns.err = true, errNodeSilent
					ns.cancel()
				}
			}
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-s.engine.ctx.Done():
			return errClosed
		}
	}
	return nil
}

// longestSilentSince returns the last sign of life of the awaited node that has been silent for longest, and zero if no
// node is awaited.
func (s *searches[T]) longestSilentSince() (since time.Time) {
	for _, ns := range s.all {
		if !ns.done && !ns.hasItem && (since.IsZero() || ns.lastSign.Before(since)) {
			since = ns.lastSign
		}
	}
	return since
}

// noteEvent notes an event, unless its node has been given up.
func (s *searches[T]) noteEvent(ev searchEvent[T]) {
	ns := ev.from
	if ns.done {
		return
	}
	ns.lastSign, ns.item, ns.hasItem, ns.done, ns.err = time.Now(), ev.item, ev.hasItem, ev.done, ev.err
	if !ev.hasItem && !ev.done {
		ns.searched = ev.searched
		if s.progress != nil {
			sum := 0
			for _, each := range s.all {
				sum += each.searched
			}
			s.progress(sum)
		}
	}
}

// finishItem notes that the item has been used. The node goes on with the next awaitItems.
func (ns *nodeSearch[T]) finishItem() { ns.hasItem, ns.paused = false, true }

// failedNodes returns how many nodes have failed, and their answers.
func (s *searches[T]) failedNodes() (n int, votes []Vote) {
	for _, ns := range s.all {
		if ns.err != nil {
			n++
			votes = append(votes, s.engine.readVote(ns.node, ns.err))
		}
	}
	return n, votes
}

// errTooFewAnswered is the error of a request that needs the answers of need nodes and has not got them.
func (e *Engine) errTooFewAnswered(votes []Vote, need int) error {
	answered := len(e.nodes)
	var others []string
	for _, v := range votes {
		if v.Answer != Granted { // which here is any answer but an error
			others = append(others, v.String())
			answered--
		}
	}
	return driver.NoEffect(fmt.Errorf("%d of %d nodes have answered, %d must: %s",
		answered, len(e.nodes), need, strings.Join(others, "; ")))
}
