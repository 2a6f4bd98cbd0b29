package redis

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// maxAtOnce is how many locks one script may take. The server does nothing else meanwhile.
const maxAtOnce = 64

// TakeAll implements [driver.AllTaker], for up to 64 names. In a Cluster they must be in one slot, as names with the
// same text in braces are: "{user:7}cart" and "{user:7}orders". The error is ErrNotTogether otherwise.
func (e *Engine) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	if len(batch) > maxAtOnce {
		return nil, driver.ErrNotTogether
	}
	first, oneSlot := e.names(batch[0].Key), true
	keys := make([]string, 0, 2*len(batch))
	args := make([]any, 0, 4*len(batch)+2)
	owners := make([]string, len(batch))
	for i := range batch {
		r := &batch[i]
		if err := checkOwner(r.Owner); err != nil {
			return nil, err
		}
		n := e.names(r.Key)
		owners[i] = r.Owner
		oneSlot = oneSlot && n.slot() == first.slot()
		keys = append(keys, n.valueAndToken()...)
		args = append(args,
			r.Owner+"\n", luascript.Millis(r.TTL), max(r.Tokens, 1), luascript.WithoutNUL(r.Holder)+"\n")
	}
	if err := e.awaitServer(ctx, first, owners...); err != nil {
		return nil, err
	}
	return inTime(ctx, e, func(ctx context.Context) ([]driver.Grant, error) {
		if !oneSlot {
			switch cluster, err := e.router.askIsCluster(ctx, first); {
			case err != nil:
				return nil, err
			case cluster:
				return nil, driver.ErrNotTogether
			}
		}
		return e.takeAtOnce(ctx, batch, first, newScriptCall(keys, append(args, floorArg())...))
	}, func(grants []driver.Grant, err error) {
		for i, g := range grants {
			e.releaseLate(batch[i])(g, err)
		}
	})
}

// takeAtOnce runs the script that takes all of a batch.
func (e *Engine) takeAtOnce(
	ctx context.Context, batch []driver.Request, first redisKeys, call scriptCall,
) ([]driver.Grant, error) {
	answer, _, err := e.runScript(ctx, e.sendWithReplicas, scriptTakeAll, first, call)
	unconfirmed := err
	if err != nil && !isShortfall(err) {
		return nil, err
	}
	grants, err := e.readTakeAll(answer, batch)
	if err == nil && unconfirmed != nil {
		return nil, e.undoTake(ctx, unconfirmed, false, batch...)
	}
	return grants, err
}

// readTakeAll reads the answer of take_all.lua.
func (e *Engine) readTakeAll(answer any, batch []driver.Request) ([]driver.Grant, error) {
	if at, refused := answer.(int64); refused && 1 <= at && int(at) <= len(batch) {
		e.contended.Add(batch[at-1].Key, contendedFor)
		return nil, driver.ErrHeld
	}
	list, err := replies.Integers(answer, 2*len(batch))
	if err != nil {
		return nil, err
	}
	grants := make([]driver.Grant, len(batch))
	for i := range grants {
		if grants[i], err = newGrant(list[2*i], list[2*i+1], batch[i]); err != nil {
			return nil, err
		}
	}
	return grants, nil
}
