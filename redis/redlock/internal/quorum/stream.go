package quorum

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// streams are what all nodes tell, piece by piece, of what they search for. A node is asked once, goes on with the next piece when the one before is
// used up, and is given up when nothing is heard of it for as long as a request may take. One goroutine uses them.
type streams[T any] struct {
	engine   *Engine
	all      []*stream[T]
	news     chan news[T]
	progress func(searched int)
	life     context.Context
	end      context.CancelFunc // ends them all
}

// stream is what one node tells.
type stream[T any] struct {
	node     *node
	end      context.CancelFunc
	more     chan struct{} // lets the node go on
	heard    time.Time     // when it last gave a sign of life, or was first listened to
	searched int
	piece    T
	full     bool // there is a piece
	waits    bool // it waits until it may go on
	over     bool // nothing more comes
	err      error
}

// news is what is heard of a node.
type news[T any] struct {
	from     *stream[T]
	searched int
	piece    T
	full     bool
	over     bool
	err      error
}

// open asks all nodes. tell asks one of them.
func open[T any](ctx context.Context, e *Engine, q driver.Query, tell func(ctx context.Context, n *node, q driver.Query, visit func(T) bool) error) *streams[T] {
	s := &streams[T]{engine: e, news: make(chan news[T]), progress: q.Progress}
	s.life, s.end = context.WithCancel(ctx)
	for _, n := range e.nodes {
		st := &stream[T]{node: n, more: make(chan struct{}, 1)}
		s.all = append(s.all, st)
		var life context.Context
		life, st.end = context.WithCancel(s.life)
		say := func(what news[T]) bool {
			what.from = st
			select {
			case s.news <- what:
				return true
			case <-life.Done():
				return false
			}
		}
		own := q
		own.Progress = func(searched int) { say(news[T]{searched: searched}) }
		if !e.begin(func() {
			defer context.AfterFunc(e.life, st.end)()
			err := errSilent
			if n.admit() {
				defer n.leave()
				err = tell(life, n, own, func(piece T) bool {
					if !say(news[T]{piece: piece, full: true}) {
						return false
					}
					select {
					case <-st.more:
						return true
					case <-life.Done():
						return false
					}
				})
			}
			say(news[T]{over: true, err: err})
		}) {
			st.over, st.err = true, errClosed
		}
	}
	return s
}

// gather waits until each node has told a piece, or has nothing more to tell, or is given up.
func (s *streams[T]) gather() error {
	for _, st := range s.all {
		if st.waits {
			st.waits = false
			st.more <- struct{}{}
		}
		st.heard = time.Now() // nobody has listened so far
	}
	late := time.NewTimer(s.engine.patience())
	defer late.Stop()
	for first := s.silentSince(); !first.IsZero(); first = s.silentSince() {
		late.Reset(time.Until(first.Add(s.engine.patience())))
		select {
		case n := <-s.news:
			s.note(n)
		case <-late.C:
			for _, st := range s.all {
				if !st.over && !st.full && time.Since(st.heard) >= s.engine.patience() {
					st.over, st.err = true, errSilent
					st.end()
				}
			}
		case <-s.life.Done():
			return s.life.Err()
		case <-s.engine.life.Done():
			return errClosed
		}
	}
	return nil
}

// silentSince is when the node was last heard of that is waited for and has been silent for longest, and zero if none is waited for.
func (s *streams[T]) silentSince() (since time.Time) {
	for _, st := range s.all {
		if !st.over && !st.full && (since.IsZero() || st.heard.Before(since)) {
			since = st.heard
		}
	}
	return since
}

// note takes in what is heard of a node.
func (s *streams[T]) note(n news[T]) {
	st := n.from
	if st.over {
		return
	}
	st.heard, st.piece, st.full, st.over, st.err = time.Now(), n.piece, n.full, n.over, n.err
	if !n.full && !n.over {
		st.searched = n.searched
		if s.progress != nil {
			sum := 0
			for _, st := range s.all {
				sum += st.searched
			}
			s.progress(sum)
		}
	}
}

// used notes that a piece is used up. The node goes on with the next one when it is wanted.
func (st *stream[T]) used() { st.full, st.waits = false, true }

// missing returns how many nodes have failed, and what they say.
func (s *streams[T]) missing() (n int, votes []Vote) {
	for _, st := range s.all {
		if st.err != nil {
			n++
			votes = append(votes, s.engine.vote(st.node, st.err))
		}
	}
	return n, votes
}

// unlisted is the error of those who had to look at more nodes than have answered: at need of them.
func (e *Engine) unlisted(votes []Vote, need int) error {
	answered := len(e.nodes)
	var others []string
	for _, v := range votes {
		if v.Answer != Granted { // which is what any other answer than an error is called
			others = append(others, v.String())
			answered--
		}
	}
	return driver.NoEffect(fmt.Errorf("%d of %d nodes have answered, %d must: %s", answered, len(e.nodes), need, strings.Join(others, "; ")))
}
