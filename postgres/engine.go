package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/contended"
	"github.com/leasehold-go/leasehold/internal/keyset"
)

// Engine keeps locks in a PostgreSQL database. It is safe for concurrent use. Any number of engines, in any number of
// processes, may use one schema.
type Engine struct {
	unsupported
	config
	pool        *pgxpool.Pool
	ownsPool    bool     // Close closes the pool
	secretFiles []string // that the pool's configuration was read from
	statements  statements
	tables      tables
	batcher     *batcher // nil if each request is sent by itself

	waiters      waiters
	subscription subscription
	wanted       keyset.Set[driver.Key] // names that this process holds and that others waited for at the grant
	contended    contended.Names[driver.Key]
	guarded      guardedLeases

	ctx       context.Context // ends with Close
	cancel    context.CancelFunc
	closeOnce sync.Once
}

// unsupported answers calls of what this engine cannot do.
type unsupported = driver.Unsupported

var (
	_ driver.Engine     = (*Engine)(nil)
	_ driver.Operator   = (*Engine)(nil)
	_ driver.AllTaker   = (*Engine)(nil)
	_ driver.Latcher    = (*Engine)(nil)
	_ driver.DataKeeper = (*Engine)(nil)
	_ driver.Wanter     = (*Engine)(nil)
)

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	return driver.Abilities{
		Name:       "postgres",
		Shared:     true,
		Semaphores: true,
		Waiters:    true,
		Fair:       true,
		MaxTTL:     e.maxTTL,
	}
}

// Close ends all waiting calls and closes the listening connection. It also closes the pool if [Open] has made the
// engine. Leases stay granted until they expire: release them before. Calls after Close are refused. Close may be
// called several times, and always returns nil.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() {
		e.cancel()
		e.subscription.running.Wait()
		e.tables.stop()
		if e.batcher != nil {
			e.batcher.stop()
		}
		if e.ownsPool {
			closePool(e.pool)
		}
	})
	return nil
}

// closeTimeout is how long the end of connections is waited for.
const closeTimeout = time.Second

// closePool closes a pool, and leaves that to a goroutine if it takes long. When a request was given up, or its answer
// made no sense, pgx waits for up to 15 s until the server has ended the connection.
func closePool(pool *pgxpool.Pool) {
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	limit := time.NewTimer(closeTimeout)
	defer limit.Stop()
	select {
	case <-closed:
	case <-limit.C:
	}
}

// ask runs a statement that changes something and answers with one row.
func (e *Engine) ask(ctx context.Context, of purpose, dest []any, query string, args ...any) error {
	if err := e.makeTables(ctx); err != nil {
		return err
	}
	return e.read(ctx, of, dest, query, args...)
}

// read is ask for a statement that changes nothing.
func (e *Engine) read(ctx context.Context, of purpose, dest []any, query string, args ...any) error {
	if e.ctx.Err() != nil {
		return errClosed
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return explainNotSent(err)
	}
	err = conn.QueryRow(ctx, query, args...).Scan(dest...)
	conn.Release() // the pool may have only this connection, and another request may follow
	return e.explainMissingRight(ctx, of, explain(err))
}

// sendShort is ask for a short statement, which may be sent in a batch with those of other goroutines. Its arguments
// and answer have types that [encode] and [decode] know. If at_once does the request instead, dest is not set.
func (e *Engine) sendShort(ctx context.Context, atOnce *atOnceRequest, dest any, query string, args ...any) error {
	if e.batcher == nil {
		return e.ask(ctx, toLock, []any{dest}, query, args...)
	}
	if err := e.makeTables(ctx); err != nil {
		return err
	}
	if e.ctx.Err() != nil {
		return errClosed
	}
	r := &request{query: query, values: encode(args), atOnce: atOnce}
	if err := e.batcher.ask(ctx, r); err != nil || atOnce.isDone() {
		return e.explainMissingRight(ctx, toLock, err)
	}
	return decode(r.row, dest)
}
