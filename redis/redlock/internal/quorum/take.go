package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Take implements [driver.Engine]: it asks all nodes. Those who would wait for a name that was not free a moment ago do not even try.
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Kind != driver.Lock || r.Mode != driver.Exclusive {
		return driver.Grant{}, driver.Permanent(errUnsupported)
	}
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, driver.NoEffect(err)
	}
	a := e.attempts.begin(r, len(e.nodes))
	defer e.attempts.end(a)
	if r.Join && e.crowd.Has(r.Key) {
		e.attempts.wait(a)
		return driver.Grant{}, driver.ErrHeld
	}
	o := e.attempts.asker(a)
	g, err := e.ballot(r, o).hold(ctx)
	switch {
	case err == nil:
		return g, nil
	case r.Join && errors.Is(err, driver.ErrHeld):
		e.crowd.Add(r.Key)
		e.attempts.wait(a)
		return g, err // it goes on as another owner, if it must
	case driver.HadNoEffect(err):
		e.attempts.forget(a)
	}
	if o.spent() {
		err = driver.Spent(err)
	}
	return g, err
}

var errUnsupported = fmt.Errorf("a quorum has neither readers nor permits: majorities of different holders overlap, so nobody could count them; use one Redis, or another engine")

// ballot is one take from all nodes.
type ballot struct {
	inbox
	engine  *Engine
	request driver.Request
	asked   driver.Request // as the caller has put it
	owner   *owner
	start   driver.Instant
	pending int
	votes   []Vote   // by node
	grants  []tokens // by node; zero of those that have not granted it
	granted int      // how many have
	largest uint64   // the largest first token of a node
	token   uint64   // of the lease, once it is decided
	arbiter *node    // nil until it matters
	repeats int      // how often nodes that refuse have been asked again
}

// tokens are the first and the last token that a node has granted.
type tokens struct{ first, last uint64 }

// ballot begins a take. All nodes have the same least token, so that most often they agree at once.
func (e *Engine) ballot(asked driver.Request, o *owner) *ballot {
	r := asked
	r.Owner, r.Place, r.Join = o.name, o.attempt.place, false
	r.Tokens = max(r.Tokens, 1)
	r.Floor = max(r.Floor, o.least())
	return &ballot{
		inbox:  newInbox(len(e.nodes), e.need),
		engine: e, request: r, asked: asked, owner: o, start: driver.Now(),
		votes:  e.votes(Undecided),
		grants: make([]tokens, len(e.nodes)),
	}
}

// hold asks all nodes, and counts their votes. An arbiter that has granted the name already comes last.
func (b *ballot) hold(ctx context.Context) (driver.Grant, error) {
	within := b.engine.bound(ctx)
	for _, n := range b.engine.nodes {
		if n != b.arbiter {
			b.ask(within, n)
		}
	}
	if b.arbiter != nil {
		b.ask(within, b.arbiter)
	}
	return b.count(ctx)
}

// ask asks one node to grant the name.
func (b *ballot) ask(ctx *bounded, n *node) {
	if !b.enter(answer{node: n}) {
		return
	}
	switch {
	case !b.owner.ask(n):
		b.leave(answer{node: n, err: errReleased})
	case !n.admit():
		b.took(n, driver.Grant{}, errSilent)
	default:
		b.send(ctx, n)
	}
}

// send sends the request, which has been admitted.
func (b *ballot) send(ctx *bounded, n *node) {
	n.StartTake(ctx, b.request, func(g driver.Grant, err error) {
		n.heard(err)
		b.took(n, g, err)
		n.leave()
	})
}

// took takes in what a node has answered.
func (b *ballot) took(n *node, g driver.Grant, err error) {
	if driver.IsSpent(err) {
		b.owner.names()
	}
	b.engine.took(n, b.owner, !driver.HadNoEffect(err), err == nil)
	b.leave(answer{node: n, grant: g, err: err})
}

// raise makes a node forget tokens up to the last of the lease. An owner whose time is up there is refused: another one may have been granted the
// name with a larger token.
func (b *ballot) raise(ctx context.Context, n *node) {
	e, r := b.engine, driver.Raise{Key: b.request.Key, Owner: b.request.Owner, Token: b.token, Tokens: b.request.Tokens}
	if b.enter(answer{node: n, raised: true}) {
		go func() {
			err := e.request(ctx, n, func(ctx context.Context) error { return n.Raise(ctx, r) })
			b.leave(answer{node: n, raised: true, err: err})
		}()
	}
}

// enter notes a request that goes on by itself. If the engine is closed, that is the answer.
func (b *ballot) enter(about answer) bool {
	b.pending++
	if !b.engine.enter() {
		about.err = errClosed
		b.put(about)
		return false
	}
	b.owner.attempt.use()
	return true
}

// leave takes in the answer to a request.
func (b *ballot) leave(a answer) {
	b.put(a)
	b.engine.attempts.end(b.owner.attempt)
	b.engine.work.Done()
}

// count waits until it is decided whether a majority grants the name, and stands at one token. What is not needed for that goes on by itself.
func (b *ballot) count(ctx context.Context) (driver.Grant, error) {
	need := b.engine.need
	late := time.NewTimer(b.engine.patience())
	defer late.Stop()
	var again *time.Timer
	for {
		switch may := b.mayAsk(); {
		case may && again == nil:
			again = time.NewTimer(b.pause())
			defer again.Stop()
		case !may:
			again = nil
		}
		switch {
		case b.token == 0 && b.granted >= need:
			b.decide(ctx)
			continue
		case b.token != 0 && b.standing() >= need:
			return b.won()
		case b.token != 0 && b.standing()+b.pending < need:
			err, _ := b.verdict()
			return b.lost(err)
		case b.token == 0 && again == nil && b.hangs() && b.arbitration() == Held && !b.votes[b.arbiter.index].again:
			err, _ := b.verdict() // give way
			return b.lost(err)
		case b.token == 0 && b.granted+b.pending < need:
			err, sure := b.verdict()
			if again == nil && (b.pending == 0 || sure && b.arbitration() != Undecided) {
				return b.lost(err)
			}
		}
		if a, ok := b.next(); ok {
			b.pending--
			b.note(ctx, a)
			continue
		}
		var now <-chan time.Time
		if again != nil {
			now = again.C
		}
		select {
		case <-b.wake:
		case <-now:
			again = nil
			b.askAgain(ctx)
			late.Reset(b.engine.patience())
		case <-ctx.Done():
			return b.lost(ctx.Err())
		case <-late.C:
			for i := range b.votes {
				if b.votes[i].Answer == Undecided {
					b.votes[i].Answer = NoAnswer
				}
			}
			err, _ := b.verdict()
			return b.lost(err)
		}
	}
}

// arbitration is what the arbiter has answered.
func (b *ballot) arbitration() Answer {
	if b.arbiter == nil {
		b.arbiter = b.engine.arbiter(b.request.Key)
	}
	return b.votes[b.arbiter.index].Answer
}

func (b *ballot) verdict() (err error, sure bool) { return b.engine.verdict(b.votes, b.asked.Join) }

// note takes in an answer.
func (b *ballot) note(ctx context.Context, a answer) {
	switch {
	case a.raised && a.err == nil:
		b.grants[a.node.index] = b.lease()
	case a.raised && driver.IsNo(a.err): // somebody else has it, or may have had it since
		b.votes[a.node.index] = Vote{Node: a.node.name, Answer: Held, Err: a.err}
	case a.err != nil:
		b.votes[a.node.index] = b.engine.vote(a.node, a.err)
		b.votes[a.node.index].again = driver.IsSpent(a.err) // the node has released it by itself
	default:
		b.votes[a.node.index] = b.engine.vote(a.node, nil)
		if b.grants[a.node.index].first == 0 {
			b.granted++
		}
		b.grants[a.node.index] = tokens{a.grant.Token, a.grant.Token + uint64(max(a.grant.Tokens, 1)) - 1}
		b.largest = max(b.largest, a.grant.Token)
		if b.token != 0 {
			b.lift(ctx, a.node)
		}
	}
}

// decide fixes the token: the largest that was granted. If no majority stands there, those that are behind are raised.
func (b *ballot) decide(ctx context.Context) {
	b.token = b.largest
	if b.standing() >= b.engine.need {
		return
	}
	for _, n := range b.engine.nodes {
		if b.grants[n.index].first != 0 {
			b.lift(ctx, n)
		}
	}
}

// lease is the tokens of the lease.
func (b *ballot) lease() tokens { return tokens{b.token, b.token + uint64(b.request.Tokens) - 1} }

// lift raises a node that is behind.
func (b *ballot) lift(ctx context.Context, n *node) {
	if g := b.grants[n.index]; g.first < b.token || g.first == b.token && g.last < b.lease().last {
		b.raise(ctx, n)
	}
}

// standing is how many nodes stand at the token: they have not granted it to anybody else, and will not grant any token of the lease again. A node that
// has granted more does not count. It may have granted the token to another one before.
func (b *ballot) standing() (n int) {
	for _, g := range b.grants {
		if g.first == b.token && g.last >= b.lease().last {
			n++
		}
	}
	return n
}

// mayAsk reports whether nodes that refuse are to be asked again. That helps over a release that is still under way to some nodes.
func (b *ballot) mayAsk() bool {
	if b.token != 0 || !slices.ContainsFunc(b.votes, func(v Vote) bool { return v.Answer == Held && !v.again }) {
		return false
	}
	switch b.arbitration() {
	case Closed:
		return false
	case Held:
		// All others give way to the one whom the arbiter does not refuse, so when many ask at once, one of them gets it. But who could still have a majority, if
		// only those would answer who do not, may wait for them in vain. It asks for a while, as most often a release is late, and then gives way: the one whom the
		// arbiter has granted the name needs its votes, and asks for longer.
		if !b.hangs() || b.repeats >= leastHanging && driver.Now().Since(b.start) >= b.persistence()/10 {
			return false
		}
	}
	return driver.Now().Since(b.start) < b.persistence()
}

// leastHanging is how often the arbiter is asked again at least, however slow it answers, before one whom it refuses gives way.
const leastHanging = 3

// hangs reports whether a majority has answered, and neither grants the name nor refuses it.
func (b *ballot) hangs() bool {
	need := b.engine.need
	return b.pending > 0 && len(b.votes)-b.pending >= need && b.granted < need && b.granted+b.pending >= need
}

// persistence is for how long nodes that refuse are asked again: as long as others have to hear that the arbiter refuses them, and to be released. A fixed number of times
// was over sooner on a busy machine, and then nobody had what was free. It is no more than half of the lease, or too little would be left of it.
func (b *ballot) persistence() time.Duration { return min(b.engine.Timeout, b.request.TTL/2) }

// pause is how long to wait before: longer each time. The first is short, as most often a release is just being seen to.
func (b *ballot) pause() time.Duration {
	b.repeats++
	return b.engine.jitter(firstPause << min(b.repeats-1, 7))
}

// askAgain asks the nodes that refuse once more.
func (b *ballot) askAgain(ctx context.Context) {
	within := b.engine.bound(ctx)
	for i, n := range b.engine.nodes {
		if b.votes[i].Answer == Held && !b.votes[i].again {
			b.votes[i].again = true
			b.ask(within, n)
		}
	}
}

// won ends the take with a lease, unless too little is left of it.
func (b *ballot) won() (driver.Grant, error) {
	r := b.request
	left := r.TTL - r.TTL/100 - 2*time.Millisecond - driver.Now().Since(b.start) // the core takes off as much for drift
	if left < b.engine.Least {
		return b.lost(fmt.Errorf("only %v would be left of the lease: the nodes answer too slowly for this ttl", max(left, 0)))
	}
	if !b.engine.attempts.win(b.owner, r.Floor) {
		return b.lost(errReleased)
	}
	return driver.Grant{Token: b.token, Tokens: r.Tokens, Owner: b.owner.instead(b.asked), Start: b.start}, nil
}

var errReleased = errors.New("released before it was granted")

// lost ends the take without a lease: what was granted is released, and what will be granted late.
func (b *ballot) lost(err error) (driver.Grant, error) {
	b.engine.giveUp(b.owner)
	return driver.Grant{}, err
}
