// Package replicas waits until replicas have confirmed what was written on a connection, with WAIT.
package replicas

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// Confirmation says how many replicas must confirm a change, and within which time. The zero value asks for none.
type Confirmation struct {
	Replicas int
	Within   time.Duration
	// Write adds a write to the server of a key. It is needed if the commands before may have nothing to write: since
	// Redis 7.2, WAIT waits for the last write of its own connection only. nil if each of them writes.
	Write func(ctx context.Context, p redis.Pipeliner, key string) redis.Cmder
}

// Allowed says which confirmations are valid.
const Allowed = "0 to 100 replicas within 1ms to 5s"

// IsValid reports whether it is as Allowed says.
func (c Confirmation) IsValid() bool {
	return c.Replicas == 0 || c.Replicas > 0 && c.Replicas <= 100 &&
		c.Within >= time.Millisecond && c.Within <= 5*time.Second
}

// ShortfallError says that too few replicas confirmed a change in time.
type ShortfallError struct{ Confirmed, Wanted int }

// Error implements error.
func (e *ShortfallError) Error() string {
	return fmt.Sprintf("%d of %d replicas confirmed in time: look at the replication, or ask for fewer",
		e.Confirmed, e.Wanted)
}

// Connection sends a pipeline on one connection to the server of a key. WAIT counts only the changes of its own
// connection, and has no key, so a client of a Cluster would send it to any server.
type Connection func(ctx context.Context, key string, send func(redis.Pipeliner) error) error

// Send sends the commands that queue adds to a pipeline, and then WAIT, if replicas must confirm. sent reports whether
// they were sent: each has a result of its own then, and err is that of WAIT, such as a *ShortfallError. See
// https://redis.io/docs/latest/commands/wait/.
func (c Confirmation) Send(
	ctx context.Context, on Connection, key string, queue func(redis.Pipeliner),
) (sent bool, err error) {
	count := redis.NewCmd(ctx, "wait", c.Replicas, c.Within.Milliseconds())
	var write redis.Cmder = redis.NewCmd(ctx)
	var cmds []redis.Cmder
	err = on(ctx, key, func(p redis.Pipeliner) error {
		queue(p)
		if sent = true; c.Replicas > 0 {
			if c.Write != nil {
				write = c.Write(ctx, p, key)
			}
			_ = p.Process(ctx, count) // a pipeline only queues it
		}
		cmds = p.Cmds()
		return nil
	})
	luascript.SetPipelineError(cmds, err)
	switch {
	case !sent:
		return false, err
	case c.Replicas == 0:
		return true, nil
	case write.Err() != nil && !errors.Is(write.Err(), redis.Nil):
		return true, write.Err()
	}
	n, err := count.Int()
	if err == nil && n < c.Replicas {
		err = &ShortfallError{n, c.Replicas}
	}
	return true, err
}
