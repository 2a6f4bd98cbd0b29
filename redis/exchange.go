package redis

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// Exchange implements [driver.Exchanger]. It sends one script, if nobody is known to wait for the name.
func (e *Engine) Exchange(
	ctx context.Context, before driver.Release, r driver.Request,
) (g driver.Grant, released, err error) {
	n := e.names(r.Key)
	take := quorumnode.Request{Request: r}
	if !e.canExchange(before, take, n) {
		return e.releaseAndTake(ctx, before, r)
	}
	t := uncontendedRequest{releases: before.Owner}
	first, err := t.setTake(take, n, "")
	if err != nil {
		return e.releaseAndTake(ctx, before, r)
	}
	e.forgetOwner(n, before)
	answer, err := e.runUncontended(ctx, &t)
	if errors.Is(err, errGrantsClosed) {
		return e.releaseAndTake(ctx, before, r) // the script had no effect
	}
	if err != nil {
		return g, err, err
	}
	if token, alone := answer.(int64); alone {
		if token == 0 { // nothing was done: others wait, or the lease was lost
			return e.releaseAndTake(ctx, before, r)
		}
		g, err = readTakeFree(answer, nil, first, r)
		return g, nil, err
	}
	answers, _ := answer.([]any) // in a batch
	if len(answers) != 2 {
		return g, errReply, errReply
	}
	wasReleased := answers[0] == int64(1)
	if !wasReleased { // others wait, or the lease was lost
		released = e.releaseFully(ctx, n, before)
	}
	if failed, is := answers[1].(string); is {
		return g, released, explainError(requestError(failed))
	}
	g, err = readTakeFree(answers[1], nil, first, r)
	switch known := afterAnswer(take, err); {
	case known != decided:
		g, err = e.takeOrJoin(ctx, take, n, known)
	case !wasReleased && errors.Is(err, driver.ErrHeld): // perhaps by the owner that has been released since
		g, err = e.Take(ctx, r)
	}
	return g, released, err
}

func (e *Engine) releaseAndTake(
	ctx context.Context, before driver.Release, r driver.Request,
) (g driver.Grant, released, err error) {
	released = e.Release(ctx, before)
	g, err = e.Take(ctx, r)
	return g, released, err
}

// canExchange reports whether one script can release and take, provided that nobody waits. batch.lua takes one token
// for each owner.
func (e *Engine) canExchange(before driver.Release, r quorumnode.Request, n redisKeys) bool {
	return canReleaseUncontended(before) && e.canTakeUncontended(r) && r.Tokens <= 1 && e.nodeList == nil &&
		checkOwner(before.Owner) == nil && checkOwner(r.Owner) == nil && !e.spentAtHead.Has(before.Owner) &&
		!(r.Join && e.contended.Has(r.Key)) && e.router.cachedServer(n) != nil
}
