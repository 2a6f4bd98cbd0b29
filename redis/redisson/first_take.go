package redisson

import (
	"cmp"
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
)

// awaitServer makes sure for a take that a server has answered once. Until then nothing is sent that could grant
// something, so whoever gives up need not wait for a release that the server would not answer either. It fails if the
// take must not be sent, because its owner was released meanwhile.
func (e *Engine) awaitServer(ctx context.Context, name, owner string) error {
	if e.answered.Load() {
		return e.unsent.NoteSent(owner)
	}
	goOn := e.unsent.NotePending(owner)
	err := detach.Run(ctx, &e.workers, func(ctx context.Context) error {
		err := e.client.Exists(ctx, name).Err()
		if _, replied := errors.AsType[redis.Error](err); replied {
			return nil // if it refuses the take, too, that says why
		}
		return err
	})
	if err == nil {
		e.answered.Store(true)
	} else {
		err = driver.NoEffect(explain(err)) // the take itself was not sent
	}
	return cmp.Or(goOn(err == nil), err)
}
