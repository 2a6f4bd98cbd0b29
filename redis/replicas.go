package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
	"github.com/leasehold-go/leasehold/redis/internal/replicas"
)

// sendWithReplicas sends one script, and then waits until enough replicas have confirmed its changes. It returns the
// answer of the script even if too few did.
func (e *Engine) sendWithReplicas(ctx context.Context, cmd luascript.SingleCommand) (any, error) {
	if e.replicas == 0 {
		return e.sendPipelined(ctx, cmd)
	}
	sent, err := e.sendConfirmed(ctx, *cmd.Args()[3].(*string), func(p redis.Pipeliner) {
		_ = p.Process(ctx, cmd) // a pipeline only queues it
	})
	switch {
	case !sent: // the server was not even reached
		return nil, err
	case cmd.Err() != nil:
		return nil, cmd.Err()
	}
	return cmd.Val(), err
}

// sendConfirmed sends what queue adds to a pipeline to the server of a key, and asks how many replicas have confirmed
// it. sent reports whether it was sent.
func (e *Engine) sendConfirmed(ctx context.Context, key string, queue func(redis.Pipeliner)) (sent bool, err error) {
	c := replicas.Confirmation{Replicas: e.replicas, Within: e.replicasWithin}
	return c.Send(ctx, e.onConnectionOf, key, queue)
}

// onConnectionOf sends a pipeline on one connection to the server of a key.
func (e *Engine) onConnectionOf(ctx context.Context, key string, send func(redis.Pipeliner) error) error {
	if !e.router.isCluster() {
		_, err := e.client.Pipelined(ctx, send)
		return err
	}
	return e.router.onOneConnection(ctx, key, func(tx *redis.Tx) error {
		_, err := tx.Pipelined(ctx, send)
		return err
	})
}

// undoTake releases what too few replicas confirmed. The release may arrive at any later time, so the owners are spent,
// whatever the answer is. With keepHead, the owners had waited, and the next owners at their places become the heads of
// the queues again.
func (e *Engine) undoTake(ctx context.Context, short error, keepHead bool, batch ...driver.Request) error {
	for i := range batch {
		r := &batch[i]
		if keepHead {
			e.spentAtHead.Add(r.Owner)
		}
		n := e.names(r.Key)
		answer, err := e.run(ctx, scriptRelease, n,
			r.Owner, floorArg(), 0, placeArg(r.Place, r.Owner), flagArg(keepHead))
		err = e.readReleased(ctx, n, answer, err)
		if err != nil && !errors.Is(err, driver.ErrNotHeld) {
			return driver.Spent(short)
		}
		if keepHead {
			e.spentAtHead.Remove(r.Owner)
		}
	}
	return driver.Spent(driver.NoEffect(short))
}

// mayStillUndo reports whether a request of unknown outcome, which may have been abandoned, may still find that too few
// replicas confirmed its grant, and undo it. The owner is then spent.
func (e *Engine) mayStillUndo(err error) bool {
	return e.replicas > 0 && err != nil && !driver.HadNoEffect(err) && !driver.IsSpent(err)
}
