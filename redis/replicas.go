package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// shortfallError says that too few replicas confirmed a change in time.
type shortfallError struct{ confirmed, wanted int }

// Error implements error.
func (e *shortfallError) Error() string {
	return fmt.Sprintf("%d of %d replicas confirmed in time: look at the replication, or ask for fewer",
		e.confirmed, e.wanted)
}

// runConfirmed sends one script, and then waits until enough replicas have confirmed its changes. It returns the answer
// of the script even if too few did.
func (e *Engine) runConfirmed(ctx context.Context, cmd luascript.SingleCommand) (any, error) {
	if e.replicas == 0 {
		return e.send(ctx, cmd)
	}
	var count *redis.Cmd
	sent := false
	send := func(p redis.Pipeliner) error {
		sent = true
		_ = p.Process(ctx, cmd) // a pipeline only queues it
		count = e.askReplicas(ctx, p)
		return nil
	}
	err := e.onConnectionOf(ctx, *cmd.Args()[3].(*string), send)
	switch {
	case !sent: // the server was not even reached
		return nil, err
	case cmd.Err() != nil:
		return nil, cmd.Err()
	}
	return cmd.Val(), e.checkReplicas(count)
}

// askReplicas asks how many replicas have confirmed the changes of the connection. See
// https://redis.io/docs/latest/commands/wait/.
func (e *Engine) askReplicas(ctx context.Context, p redis.Pipeliner) *redis.Cmd {
	return p.Do(ctx, "wait", e.replicas, e.replicasWithin.Milliseconds())
}

// checkReplicas checks that enough replicas confirmed.
func (e *Engine) checkReplicas(count *redis.Cmd) error {
	if count == nil {
		return errNoAnswer // the commands before it were refused
	}
	n, err := count.Int()
	if err != nil {
		return explainError(err)
	}
	if n < e.replicas {
		return &shortfallError{n, e.replicas}
	}
	return nil
}

// onConnectionOf sends commands one after the other on one connection to the server of a key.
func (e *Engine) onConnectionOf(ctx context.Context, key string, send func(redis.Pipeliner) error) error {
	if !e.router.isCluster() {
		_, err := e.client.Pipelined(ctx, send)
		return err
	}
	// WAIT has no key, so the client would send it to any server.
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
		err := replies.Held(e.run(ctx, scriptRelease, e.names(r.Key),
			r.Owner, floorArg(), 0, placeArg(r.Place, r.Owner), flagArg(keepHead)))
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
