package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// ballot is one attempt to be granted a name by a majority.
type ballot struct {
	answerQueue
	engine       *Engine
	request      quorumnode.Request // to the nodes
	callRequest  driver.Request     // by the caller
	owner        *owner
	start        driver.Instant
	pending      int
	votes        []Vote   // by node
	nodeTokens   []tokens // by node; zero if the node has not granted the name
	grantCount   int      // nodes that have
	largestToken uint64   // the largest first token of a node
	token        uint64   // of the lease, once it is decided
	arbiter      *node    // nil until it matters
	retries      int      // how often nodes that refuse were asked again
}

// tokens are the first and the last token that a node has granted.
type tokens struct{ first, last uint64 }

// newBallot returns a ballot that starts now. The token floor is the same on all nodes, so that they usually grant the
// same token.
func (e *Engine) newBallot(callRequest driver.Request, o *owner) *ballot {
	r := o.request(callRequest)
	r.Join, r.Tokens = false, max(r.Tokens, 1)
	return &ballot{
		answerQueue: newAnswerQueue(len(e.nodes), e.majority),
		engine:      e, request: r, callRequest: callRequest, owner: o, start: driver.Now(),
		votes:      e.newVotes(Undecided),
		nodeTokens: make([]tokens, len(e.nodes)),
	}
}

// run asks all nodes, and waits for the decision. An arbiter that has granted the name already is asked last.
func (b *ballot) run(ctx context.Context) (driver.Grant, error) {
	nodeCtx := b.engine.withNodeDeadline(ctx)
	for _, n := range b.engine.nodes {
		if n != b.arbiter {
			b.askNode(nodeCtx, n)
		}
	}
	if b.arbiter != nil {
		b.askNode(nodeCtx, b.arbiter)
	}
	return b.awaitDecision(ctx)
}

// askNode asks one node to grant the name.
func (b *ballot) askNode(ctx *deadlineContext, n *node) {
	if !b.beginRequest(answer{node: n}) {
		return
	}
	switch {
	case !b.owner.beginTake(n):
		b.endRequest(answer{node: n, err: errReleased})
	case !n.beginRequest():
		b.noteTake(n, driver.Grant{}, errNodeSilent)
	default:
		b.sendTake(ctx, n)
	}
}

// sendTake sends the take, which has been counted everywhere.
func (b *ballot) sendTake(ctx *deadlineContext, n *node) {
	n.StartTake(ctx, b.request, func(g driver.Grant, err error) {
		n.noteAnswer(err)
		b.noteTake(n, g, err)
		n.endRequest()
	})
}

// noteTake notes the answer of a node to the take.
func (b *ballot) noteTake(n *node, g driver.Grant, err error) {
	if driver.IsSpent(err) {
		b.owner.noteSpentByNode()
	}
	b.engine.noteTake(n, b.owner, !driver.HadNoEffect(err), err == nil)
	b.endRequest(answer{node: n, grant: g, err: err})
}

// sendRaise raises a node to the last token of the lease. The node refuses an owner whose time is up there: somebody
// else may have been granted the name with a larger token.
func (b *ballot) sendRaise(ctx context.Context, n *node) {
	e := b.engine
	r := quorumnode.Raise{Key: b.request.Key, Owner: b.request.Owner, Token: b.token, Tokens: b.request.Tokens}
	if b.beginRequest(answer{node: n, raised: true}) {
		go func() {
			err := e.sendRequest(ctx, n, func(ctx context.Context) error { return n.Raise(ctx, r) })
			b.endRequest(answer{node: n, raised: true, err: err})
		}()
	}
}

// beginRequest counts a request that may outlast the ballot. If the engine is closed, it adds that as the answer and
// reports false.
func (b *ballot) beginRequest(closed answer) bool {
	b.pending++
	if !b.engine.beginWork() {
		closed.err = errClosed
		b.add(closed)
		return false
	}
	b.owner.call.addUse()
	return true
}

// endRequest ends a request with its answer.
func (b *ballot) endRequest(a answer) {
	b.add(a)
	b.engine.calls.endUse(b.owner.call)
	b.engine.background.Done()
}

// awaitDecision waits until it is decided whether a majority grants the name and stands at one token. Requests that are
// not needed for that go on in the background.
func (b *ballot) awaitDecision(ctx context.Context) (driver.Grant, error) {
	majority := b.engine.majority
	timeout := time.NewTimer(b.engine.answerTimeout())
	defer timeout.Stop()
	var retry *time.Timer
	for {
		switch should := b.shouldRetry(); {
		case should && retry == nil:
			retry = time.NewTimer(b.nextPause())
			defer retry.Stop()
		case !should:
			retry = nil
		}
		switch {
		case b.token == 0 && b.grantCount >= majority:
			b.decideToken(ctx)
			continue
		case b.token != 0 && b.nodesAtToken() >= majority:
			return b.finishWon()
		case b.token != 0 && b.nodesAtToken()+b.pending < majority:
			err, _ := b.verdict()
			return b.finishLost(err)
		case b.token == 0 && retry == nil && b.isStuck() &&
			b.arbiterAnswer() == Held && !b.votes[b.arbiter.index].noRetry:
			err, _ := b.verdict() // give way
			return b.finishLost(err)
		case b.token == 0 && b.grantCount+b.pending < majority:
			err, final := b.verdict()
			if retry == nil && (b.pending == 0 || final && b.arbiterAnswer() != Undecided) {
				return b.finishLost(err)
			}
		}
		if a, ok := b.next(); ok {
			b.pending--
			b.countAnswer(ctx, a)
			continue
		}
		var retryNow <-chan time.Time
		if retry != nil {
			retryNow = retry.C
		}
		select {
		case <-b.wake:
		case <-retryNow:
			retry = nil
			b.retryRefusals(ctx)
			timeout.Reset(b.engine.answerTimeout())
		case <-ctx.Done():
			return b.finishLost(ctx.Err())
		case <-timeout.C:
			for i := range b.votes {
				if b.votes[i].Answer == Undecided {
					b.votes[i].Answer = NoAnswer
				}
			}
			err, _ := b.verdict()
			return b.finishLost(err)
		}
	}
}

func (b *ballot) verdict() (err error, final bool) {
	return b.engine.verdict(b.votes, b.callRequest.Join)
}

// countAnswer counts one answer to a take or a raise.
func (b *ballot) countAnswer(ctx context.Context, a answer) {
	i := a.node.index
	switch {
	case a.raised && a.err == nil:
		b.nodeTokens[i] = b.leaseTokens()
	case a.raised && driver.IsNo(a.err): // somebody else holds the name there, or may have held it since
		b.votes[i] = Vote{Node: a.node.name, Answer: Held, Err: a.err}
	case a.err != nil:
		b.votes[i] = b.engine.readVote(a.node, a.err)
		b.votes[i].noRetry = driver.IsSpent(a.err)
	default:
		b.votes[i] = b.engine.readVote(a.node, nil)
		if b.nodeTokens[i].first == 0 {
			b.grantCount++
		}
		b.nodeTokens[i] = tokens{a.grant.Token, a.grant.Token + uint64(max(a.grant.Tokens, 1)) - 1}
		b.largestToken = max(b.largestToken, a.grant.Token)
		if b.token != 0 {
			b.raiseIfBehind(ctx, a.node)
		}
	}
}

// decideToken decides the token of the lease: the largest that was granted. If no majority stands at it, the nodes that
// are behind are raised.
func (b *ballot) decideToken(ctx context.Context) {
	b.token = b.largestToken
	if b.nodesAtToken() >= b.engine.majority {
		return
	}
	for _, n := range b.engine.nodes {
		if b.nodeTokens[n.index].first != 0 {
			b.raiseIfBehind(ctx, n)
		}
	}
}

// leaseTokens are the tokens of the lease.
func (b *ballot) leaseTokens() tokens { return tokens{b.token, b.token + uint64(b.request.Tokens) - 1} }

// raiseIfBehind raises a node that is below the tokens of the lease.
func (b *ballot) raiseIfBehind(ctx context.Context, n *node) {
	if g := b.nodeTokens[n.index]; g.first < b.token || g.first == b.token && g.last < b.leaseTokens().last {
		b.sendRaise(ctx, n)
	}
}

// nodesAtToken returns how many nodes stand at the token: they have granted it to nobody else, and will not
// grant any token of the lease again. A node that has granted a larger token does not count, since it may
// have granted this one to somebody else before.
func (b *ballot) nodesAtToken() (n int) {
	for _, g := range b.nodeTokens {
		if g.first == b.token && g.last >= b.leaseTokens().last {
			n++
		}
	}
	return n
}

// finishWon ends the ballot with a lease, unless too little is left of it.
func (b *ballot) finishWon() (driver.Grant, error) {
	r := b.request
	left := r.TTL - driver.Drift(r.TTL) - driver.Now().Since(b.start)
	if left < b.engine.MinValidity {
		return b.finishLost(fmt.Errorf("only %v would be left of the lease: the nodes answer too slowly for this ttl",
			max(left, 0)))
	}
	if !b.engine.calls.acceptGrant(b.owner, r.Floor) {
		return b.finishLost(errReleased)
	}
	return driver.Grant{
		Token: b.token, Tokens: r.Tokens, Owner: b.owner.grantOwner(b.callRequest), Start: b.start}, nil
}

var errReleased = errors.New("released before it was granted")

// finishLost ends the ballot without a lease. What nodes have granted, or grant late, is released.
func (b *ballot) finishLost(err error) (driver.Grant, error) {
	b.engine.giveUpBallot(b.owner)
	return driver.Grant{}, err
}
