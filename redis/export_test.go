package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNoAnswer is the error of a read-only request that the server does not answer.
var ErrNoAnswer = errNoAnswer

// Recallables returns how many owners the engine would ask to let go.
func (e *Engine) Recallables() (n int) {
	e.recalls.mu.Lock()
	defer e.recalls.mu.Unlock()
	for _, list := range e.recalls.byName {
		n += len(list)
	}
	return n
}

// Answering returns how many answers to recalls are in flight.
func (e *Engine) Answering() int { return int(e.recalls.answering.Load()) }

// Trust declares a server open for engines with any longest ttl, so that they grant leases there at once.
func Trust(ctx context.Context, server *redis.Client) error {
	e, err := New(server)
	if err != nil {
		return err
	}
	defer e.Close()
	e.maxTTL = time.Millisecond
	return server.Watch(ctx, func(tx *redis.Tx) error {
		_, err := e.openServer(ctx, tx, "a test")
		return err
	})
}
