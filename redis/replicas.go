package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// shortfallError says that too few replicas have confirmed a change in time.
type shortfallError struct{ confirmed, wanted int }

// Error implements error.
func (e *shortfallError) Error() string {
	return fmt.Sprintf("%d of %d replicas confirmed in time: look at the replication, or ask for fewer", e.confirmed, e.wanted)
}

// confirmed sends one script, and then waits until enough replicas have what it changed. It returns the answer of the script
// also with a shortfall.
func (e *Engine) confirmed(ctx context.Context, cmd once) (any, error) {
	if e.replicas == 0 {
		return e.evaluate(ctx, cmd)
	}
	var count *redis.Cmd
	sent := false
	send := func(p redis.Pipeliner) error {
		sent = true
		_ = p.Process(ctx, cmd) // a pipeline only notes it
		count = e.acknowledged(ctx, p)
		return nil
	}
	err := e.together(ctx, cmd.key(), send)
	switch {
	case !sent: // the server was not even reached
		return nil, err
	case cmd.Err() != nil:
		return nil, cmd.Err()
	}
	return cmd.Val(), e.enough(count)
}

// acknowledged asks how many replicas have what the connection has changed. See https://redis.io/docs/latest/commands/wait/.
func (e *Engine) acknowledged(ctx context.Context, p redis.Pipeliner) *redis.Cmd {
	return p.Do(ctx, "wait", e.replicas, e.within.Milliseconds())
}

// enough reads how many they are.
func (e *Engine) enough(count *redis.Cmd) error {
	if count == nil {
		return errNoAnswer // the commands before have been refused
	}
	n, err := count.Int()
	if err != nil {
		return explain(err)
	}
	if n < e.replicas {
		return &shortfallError{n, e.replicas}
	}
	return nil
}

// together sends commands one after the other on one connection to the server of a key.
func (e *Engine) together(ctx context.Context, key string, send func(redis.Pipeliner) error) error {
	if !e.place.clustered() {
		_, err := e.client.Pipelined(ctx, send)
		return err
	}
	// The second command has no key, so the client would send it anywhere.
	return e.place.pinned(ctx, key, func(tx *redis.Tx) error {
		_, err := tx.Pipelined(ctx, send)
		return err
	})
}

// undo releases what too few replicas have confirmed. The release may arrive at any time after this, so the owners are spent, whatever it is answered. With
// turn they have waited for it, and the next owners at their places are the first to get the name.
func (e *Engine) undo(ctx context.Context, short error, turn bool, batch ...driver.Request) error {
	for i := range batch {
		r := &batch[i]
		if turn {
			e.turns.Add(r.Owner)
		}
		err := yes(e.run(ctx, release, e.names(r.Key), r.Owner, floor(), 0, placeOf(r.Place, r.Owner), flag(turn)))
		if err != nil && !errors.Is(err, driver.ErrNotHeld) {
			return driver.Spent(short)
		}
		if turn {
			e.turns.Remove(r.Owner)
		}
	}
	return driver.Spent(driver.NoEffect(short))
}

// mayUndo reports whether a request of unknown outcome, which may have been given up, may still find that too few replicas have confirmed what it was granted,
// and undo it. The owner is then spent.
func (e *Engine) mayUndo(err error) bool {
	return e.replicas > 0 && err != nil && !driver.HadNoEffect(err) && !driver.IsSpent(err)
}

// placeOf is a place in the queue as the scripts want it.
func placeOf(place, owner string) string {
	if place == owner {
		return ""
	}
	return place
}

// flag is a truth as the scripts want it.
func flag(b bool) string {
	if b {
		return "1"
	}
	return ""
}
