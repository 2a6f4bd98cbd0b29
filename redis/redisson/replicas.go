package redisson

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/replicas"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// WithReplicas makes a lease count only if n replicas have confirmed it within the given time (WAIT). A take that fewer
// confirm is undone and fails, and so does one of the permits of a [Semaphore]. A renewal that fewer confirm extends
// nothing: the holder may hold the lock for as long as before. Releases and latches are not confirmed.
//
// If a replica that has confirmed is promoted, it knows the lock. If another one is, it may grant the lock again. So
// this narrows what a failover can lose, and is no guarantee. Redisson is content with one replica, however many there
// are. Keep the time below a sixth of the ttl and below the ReadTimeout of the client. Defaults to 0.
func WithReplicas(n int, within time.Duration) Option {
	return func(c *config) error {
		c.confirm = replicas.Confirmation{Replicas: n, Within: within, Write: writeBeside}
		if !c.confirm.IsValid() {
			return &OptionError{"WithReplicas", replicas.Allowed}
		}
		return nil
	}
}

// Pauses between requests for a name whose slot has moved, until the client knows its new server.
const movedPauseMin, movedPauseMax = 10 * time.Millisecond, 500 * time.Millisecond

// sendConfirmed is send, and then waits until enough replicas have confirmed. unconfirmed is why the answer, which is
// that of the server, may not count.
func (e *Engine) sendConfirmed(
	ctx context.Context, build func(publish string) call,
) (answer any, unconfirmed, err error) {
	publish, err := e.publishCommand(ctx)
	if err != nil {
		return nil, nil, reply.NoEffect(err)
	}
	answer, unconfirmed, err = e.runConfirmed(ctx, e.confirm, build(publish))
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return answer, unconfirmed, explain(err)
}

// writeBeside writes to the server of a name, and leaves nothing.
func writeBeside(ctx context.Context, p redis.Pipeliner, name string) redis.Cmder {
	return p.Eval(ctx, confirmText, []string{withPrefix("leasehold_confirm", name)})
}

// unconfirmedError says why permits that nobody owns do not count, although they were taken.
type unconfirmedError struct{ cause error }

// Error implements error.
func (e *unconfirmedError) Error() string { return "redisson: " + e.cause.Error() }

// Unwrap returns what WAIT has failed with.
func (e *unconfirmedError) Unwrap() error { return e.cause }

// runForPermits sends a call that takes permits which nobody owns, and returns how many, or an *unconfirmedError. It
// returns when ctx ends.
func (e *Engine) runForPermits(ctx context.Context, build func(publish string) call) (int64, error) {
	return detach.Do(ctx, &e.workers, func(ctx context.Context) (int64, error) {
		answer, unconfirmed, err := e.sendConfirmed(ctx, build)
		taken, err := readInteger(answer, err)
		if err == nil && taken > 0 && unconfirmed != nil {
			return 0, &unconfirmedError{unconfirmed}
		}
		return taken, err
	}, nil)
}

// runConfirmed is sendConfirmed for one call. Its errors are not explained yet.
func (e *Engine) runConfirmed(
	ctx context.Context, confirm replicas.Confirmation, c call,
) (answer any, unconfirmed, err error) {
	if confirm.Replicas == 0 {
		answer, err := c.run(ctx, e.client)
		return answer, nil, err
	}
	newCommand := c.command
	for pause := movedPauseMin; ; {
		cmd := newCommand(ctx)
		sent, unconfirmed := confirm.Send(ctx, e.onServerOf, c.keys[0],
			func(p redis.Pipeliner) { _ = p.Process(ctx, cmd) }) // a pipeline only queues it
		if !sent {
			return nil, nil, reply.NoEffect(explain(unconfirmed))
		}
		answer, err := cmd.Result()
		switch {
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			newCommand = c.commandByText
			continue
		case !redis.HasErrorPrefix(err, "MOVED") || pause > movedPauseMax:
			return answer, unconfirmed, err
		}
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return nil, nil, err
		}
	}
}

// onServerOf sends a pipeline on one connection to the server of a key. A Cluster client would only learn from its own
// requests that a slot has moved.
func (e *Engine) onServerOf(ctx context.Context, key string, send func(redis.Pipeliner) error) error {
	cluster, ok := e.client.(*redis.ClusterClient)
	if !ok {
		return onOneServer(e.client)(ctx, key, send)
	}
	master, err := cluster.MasterForKey(ctx, key)
	if err == nil {
		err = onOneServer(master)(ctx, key, send)
	}
	if err != nil {
		cluster.ReloadState(ctx)
	}
	return err
}

// onOneServer sends pipelines to the server of a client.
func onOneServer(client redis.UniversalClient) replicas.Connection {
	return func(ctx context.Context, _ string, send func(redis.Pipeliner) error) error {
		_, err := client.Pipelined(ctx, send)
		return err
	}
}

// undoTake releases what must not count: too few replicas have confirmed it, or a part of it was refused. The release
// may arrive at any later time, so the owner is spent, whatever the answer is.
func (e *Engine) undoTake(ctx context.Context, p protocol, name string, r driver.Request, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leftTakeTimeout)
	defer cancel()
	release := driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}, Place: r.Place}
	err := replies.Held(e.send(ctx, func(publish string) call { return p.release(name, release, publish) }))
	if err != nil && !errors.Is(err, driver.ErrNotHeld) {
		return driver.Spent(fmt.Errorf("redisson: %w", cause)) // without a mark that it had no effect
	}
	return driver.Spent(reply.NoEffect(explain(cause)))
}
