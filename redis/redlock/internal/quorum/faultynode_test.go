package quorum

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/memory"
)

// faultyNode is a node as one client sees it: requests and replies take time, get lost, and come twice.
type faultyNode struct {
	driver.Unsupported

	node *simNode
	plan func(ctx context.Context, method, owner string) delivery
	skew time.Duration // of the client's wall clock, from which the token floor comes
	rule *ownerRule
	name string // of the node
	left func(k driver.Key, owner string)

	notePassed func() // nil: nobody counts what the node passes on to a waiter
}

var _ Node = (*faultyNode)(nil)

// delivery is what happens to one request and its reply.
type delivery struct {
	requestDelay, replyDelay time.Duration
	heldUntil                <-chan struct{} // the request is held back until this is closed; nil: it is not
	lost                     bool            // the request never arrives
	replyLost                bool            // the reply is lost
	connectionBreaks         bool            // the reply is an error
	repeatedAfter            time.Duration   // the request arrives once more, so much later
	clockJump                time.Duration   // the node's clock is set forward by this after the request
}

// send sends a request and returns the reply. A request that was sent arrives, whether or not the caller still waits.
func send[T any](
	ctx context.Context,
	n *faultyNode,
	method, owner string,
	effect func(*memory.Engine) (T, error),
) (T, error) {
	type reply struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, driver.NoEffect(err)
	}
	d := n.plan(ctx, method, owner)
	connection := n.node.connection()
	once := func() (r reply) {
		var e *memory.Engine
		if e, r.err = n.node.reach(context.Background(), connection); r.err == nil {
			r.value, r.err = effect(e)
			if d.clockJump > 0 {
				n.node.jumpClock(d.clockJump)
			}
		}
		return r
	}
	replies := make(chan reply, 1)
	go func() {
		time.Sleep(d.requestDelay)
		if d.lost {
			return
		}
		if d.heldUntil != nil {
			<-d.heldUntil
		}
		r := once()
		if d.repeatedAfter > 0 {
			go func() {
				time.Sleep(d.repeatedAfter)
				once()
			}()
		}
		time.Sleep(d.replyDelay)
		if d.connectionBreaks {
			r = reply{err: errCut}
		}
		if !d.replyLost {
			replies <- r
		}
	}()
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (n *faultyNode) Abilities() driver.Abilities {
	return driver.Abilities{Name: "link"}
}

func (n *faultyNode) skewed(r quorumnode.Request) quorumnode.Request {
	if r.Floor > 0 {
		r.Floor = uint64(max(int64(r.Floor)+n.skew.Microseconds(), 1))
	}
	return r
}

func (n *faultyNode) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return n.TakeFrom(ctx, quorumnode.Request{Request: r})
}

func (n *faultyNode) TakeFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	n.rule.checkTake(r.Owner, n.name)
	return n.sendTake(ctx, r)
}

func (n *faultyNode) sendTake(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	return send(ctx, n, "take", r.Owner,
		func(e *memory.Engine) (driver.Grant, error) { return n.node.take(e, n.skewed(r)) })
}

func (n *faultyNode) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return n.WaitFrom(ctx, quorumnode.Request{Request: r})
}

func (n *faultyNode) WaitFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	turn, err := n.WaitForGrant(ctx, r)
	return turn.Grant, err
}

// WaitForGrant leaves the queue when ctx ends, or joins it only then, and stays there. When the connection breaks it
// asks again, as the engine redis does, and may find that the node grants nothing now.
func (n *faultyNode) WaitForGrant(ctx context.Context, r quorumnode.Request) (none quorumnode.Grant, _ error) {
	n.rule.checkTake(r.Owner, n.name)
	r = n.skewed(r)
	d := n.plan(ctx, "wait", r.Owner)
	connection := n.node.connection()
	if d.lost {
		<-ctx.Done()
		return none, ctx.Err()
	}
	arrive := time.NewTimer(d.requestDelay)
	defer arrive.Stop()
	select {
	case <-arrive.C:
	case <-ctx.Done():
		left := d.requestDelay
		go func() {
			time.Sleep(left)
			if e, err := n.node.reach(context.Background(), connection); err == nil {
				r.Join = true
				_, _ = n.node.take(e, r)
			}
		}()
		return none, ctx.Err()
	}
	g, err := n.waitThere(ctx, r, connection)
	for errors.Is(err, errCut) && connection != n.node.connection() {
		connection = n.node.connection()
		g, err = n.waitThere(ctx, r, connection)
	}
	if err != nil {
		return g, err
	}
	n.node.noteGrant(driver.Hold{Key: r.Key, Owner: cmp.Or(g.Owner, r.Owner)}, g.Token, r.Tokens)
	if d.replyLost {
		<-ctx.Done()
		return none, ctx.Err()
	}
	if _, err := n.node.reach(ctx, connection); err != nil {
		n.leave(r.Key, g, connection)
		return none, err
	}
	back := time.NewTimer(d.replyDelay)
	defer back.Stop()
	select {
	case <-back.C:
	case <-ctx.Done():
		n.leave(r.Key, g, connection)
		return none, ctx.Err()
	}
	if d.connectionBreaks {
		return none, errCut
	}
	return g, nil
}

// leave has the client learn that it was passed a name after its waiter has given up, unless the connection breaks.
func (n *faultyNode) leave(k driver.Key, turn quorumnode.Grant, connection <-chan struct{}) {
	if turn.Owner == "" {
		return
	}
	go func() {
		if _, err := n.node.reach(context.Background(), connection); err == nil {
			n.left(k, turn.Owner)
		}
	}()
}

// waitThere waits in the queue of the node until the name is granted, or the connection breaks.
func (n *faultyNode) waitThere(
	ctx context.Context, r quorumnode.Request, connection <-chan struct{},
) (turn quorumnode.Grant, _ error) {
	e, err := n.node.reach(ctx, connection)
	if err != nil {
		return turn, err
	}
	if err := n.node.checkOpen(); err != nil {
		return turn, closedAnswer(true, err)
	}
	under, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-connection:
			cancel()
		case <-under.Done():
		}
	}()
	turn, err = e.WaitForGrant(under, n.node.receivedRequest(r))
	if err != nil && ctx.Err() == nil {
		err = errCut
	}
	return turn, err
}

func (n *faultyNode) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	for i, item := range batch {
		_, err := send(ctx, n, "renew", item.Owner, func(e *memory.Engine) (answer struct{}, err error) {
			e.Renew(context.Background(), []driver.Renewal{item}, func(_ int, outcome error) { err = outcome })
			return answer, err
		})
		if err == nil || driver.IsNo(err) || ctx.Err() == nil {
			report(i, err)
		}
	}
}

func (n *faultyNode) Release(ctx context.Context, r driver.Release) error {
	n.rule.noteRelease(r.Owner, n.name)
	_, err := send(ctx, n, "release", r.Owner,
		func(e *memory.Engine) (struct{}, error) { return struct{}{}, n.node.release(e, r) })
	return err
}

func (n *faultyNode) Downgrade(context.Context, driver.Hold) error { return driver.ErrUnsupported }

func (n *faultyNode) Raise(ctx context.Context, r quorumnode.Raise) error {
	_, err := send(ctx, n, "raise", r.Owner,
		func(e *memory.Engine) (struct{}, error) { return struct{}{}, n.node.raise(e, r) })
	return err
}

func (n *faultyNode) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	_, err := send(ctx, n, "force", "", func(e *memory.Engine) (struct{}, error) {
		return struct{}{}, e.ForceRelease(context.Background(), k, token)
	})
	return err
}

func (n *faultyNode) Record(ctx context.Context, r driver.Removal) error {
	_, err := send(ctx, n, "record", "", func(e *memory.Engine) (struct{}, error) {
		return struct{}{}, e.Record(context.Background(), r)
	})
	return err
}

func (n *faultyNode) Records(ctx context.Context, limit int) ([]driver.Removal, error) {
	return send(ctx, n, "records", "",
		func(e *memory.Engine) ([]driver.Removal, error) { return e.Records(context.Background(), limit) })
}

// Leaks finds none: nothing is left behind in memory.
func (n *faultyNode) Leaks(ctx context.Context, _ driver.Query, _ func(driver.Leak) bool) error {
	_, err := send(ctx, n, "leaks", "", func(*memory.Engine) (struct{}, error) { return struct{}{}, nil })
	return err
}

func (n *faultyNode) Sweep(ctx context.Context, _ driver.Leak) error {
	_, err := send(ctx, n, "sweep", "", func(*memory.Engine) (struct{}, error) { return struct{}{}, driver.ErrNotHeld })
	return err
}

func (n *faultyNode) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	return send(ctx, n, "list", "",
		func(e *memory.Engine) ([]driver.Status, error) { return e.List(context.Background(), q) })
}

// Opens answers at once, like a node that has just been asked something else.
func (n *faultyNode) Opens(context.Context) (time.Time, error) {
	if until := n.node.opensAt(); time.Now().Before(until) {
		return until, nil
	}
	return time.Time{}, nil
}

// Wanted answers like an engine whose client watches the queue.
func (n *faultyNode) Wanted(k driver.Key) bool {
	n.node.mu.Lock()
	defer n.node.mu.Unlock()
	return n.node.engine.Wanted(k)
}

// noClockSkew is the skew of a client whose clock is useless: nodes then count from zero.
const noClockSkew = -100 * 365 * 24 * time.Hour
