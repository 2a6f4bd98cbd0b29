package quorum

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// fanOut sends a request that is not a take to several nodes, and counts their answers: yes, no, or an error.
type fanOut struct {
	answerQueue
	engine  *Engine
	release driver.Release // if the request is one
	// wasPassed says that the name was passed to the owner that is released. On a node where it does not hold, that may
	// still be to come.
	wasPassed bool
	pending   int
	yes, no   int
	votes     []Vote
}

func (e *Engine) newFanOut() *fanOut {
	return &fanOut{answerQueue: newAnswerQueue(len(e.nodes), e.majority), engine: e, votes: e.newVotes(NoAnswer)}
}

// send sends one node its request, which goes on when nobody waits for it any more.
func (f *fanOut) send(ctx context.Context, n *node, request func(ctx context.Context) error) {
	f.pending++
	if !f.engine.goInBackground(func() { f.add(answer{node: n, err: f.engine.sendRequest(ctx, n, request)}) }) {
		f.add(answer{node: n, err: errClosed})
	}
}

// askRelease asks one node for the release.
func (f *fanOut) askRelease(ctx *deadlineContext, n *node) {
	f.pending++
	f.sendRelease(ctx, n, f.engine.startRelease)
}

// sendRelease is askRelease for an answer that is counted as pending already, and for any way to send it.
func (f *fanOut) sendRelease(
	ctx *deadlineContext, n *node, send func(*deadlineContext, *node, driver.Release, func(error)),
) {
	send(ctx, n, f.release, func(err error) {
		if f.wasPassed && driver.IsNo(err) {
			f.engine.releaseLater(n, f.release)
		}
		f.add(answer{node: n, err: err})
	})
}

// awaitAnswers counts answers until enough says so, or all nodes have answered, or they take too long. Its
// error is that of ctx.
func (f *fanOut) awaitAnswers(ctx context.Context, enough func() bool) error {
	timeout := time.NewTimer(f.engine.answerTimeout())
	defer timeout.Stop()
	for f.pending > 0 && !enough() {
		if a, ok := f.next(); ok {
			f.count(a)
			continue
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			return nil
		}
	}
	return nil
}

// count counts one answer.
func (f *fanOut) count(a answer) {
	f.pending--
	switch {
	case a.err == nil:
		f.yes++
	case driver.IsNo(a.err):
		f.no++
	}
	f.votes[a.node.index] = f.engine.readVote(a.node, a.err)
}

// isDecided reports whether a majority has said yes, or none can any more.
func (f *fanOut) isDecided() bool {
	return f.yes >= f.engine.majority || f.no > len(f.engine.nodes)-f.engine.majority
}

// result is yes, no or unknown, by the answers so far.
func (f *fanOut) result() error {
	switch {
	case f.yes >= f.engine.majority:
		return nil
	case f.no > len(f.engine.nodes)-f.engine.majority:
		return driver.ErrNotHeld
	}
	return fmt.Errorf("neither confirmed nor denied by %d of %d nodes: %w",
		f.engine.majority, len(f.votes), &Error{Votes: f.votes, Need: f.engine.majority})
}
