package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/keyset"
)

// Engine keeps locks in a PostgreSQL database. It is safe for concurrent use. Any number of engines, in any number of processes, may use one schema.
type Engine struct {
	config
	pool       *pgxpool.Pool
	own        bool // the pool
	statements statements
	tables     tables
	flights    *flights // nil if each request goes by itself

	waiters waiters
	ears    ears
	wanted  keyset.Set[driver.Key] // the names that are held by this process and others waited for when they were granted
	guarded guarded

	life  context.Context // ends with Close
	kill  context.CancelFunc
	close sync.Once
}

var (
	_ driver.Engine     = (*Engine)(nil)
	_ driver.Downgrader = (*Engine)(nil)
	_ driver.Forcer     = (*Engine)(nil)
	_ driver.AllTaker   = (*Engine)(nil)
	_ driver.Latcher    = (*Engine)(nil)
	_ driver.Sweeper    = (*Engine)(nil)
	_ driver.Recorder   = (*Engine)(nil)
	_ driver.Wanter     = (*Engine)(nil)
)

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	return driver.Abilities{
		Name:       "postgres",
		Shared:     true,
		Semaphores: true,
		Latches:    true,
		Force:      true,
		All:        true,
		Leaks:      true,
		Records:    true,
		Examine:    true,
		Waiters:    true,
		Fair:       true,
		Prompt:     true,
		MaxTTL:     e.maxTTL,
	}
}

// Close ends all calls that wait, and closes the connection that listens, and the pool if the engine has made it. What is held stays held until its
// lease ends: release it before. Calls after Close are refused. Close may be called many times. It always returns nil.
func (e *Engine) Close() error {
	e.close.Do(func() {
		e.kill()
		e.ears.running.Wait()
		e.tables.stop()
		if e.flights != nil {
			e.flights.stop()
		}
		if e.own {
			e.pool.Close()
		}
	})
	return nil
}

// ask runs a statement that changes something, and answers with one row.
func (e *Engine) ask(ctx context.Context, of purpose, dest []any, query string, args ...any) error {
	if err := e.makeTables(ctx); err != nil {
		return err
	}
	return e.read(ctx, of, dest, query, args...)
}

// read is ask for a statement that changes nothing.
func (e *Engine) read(ctx context.Context, of purpose, dest []any, query string, args ...any) error {
	if e.life.Err() != nil {
		return errClosed
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return notSent(err)
	}
	err = conn.QueryRow(ctx, query, args...).Scan(dest...)
	conn.Release() // it may be the only one, and another request may follow
	return e.lacking(ctx, of, explain(err))
}

// fly is ask for a short statement, which may be sent together with those of other goroutines. Its arguments and answers are of the types of [encode]
// and [decode]. An errand may be answered by at_once instead: then it is done, and dest is left alone.
func (e *Engine) fly(ctx context.Context, errand *errand, dest any, query string, args ...any) error {
	if e.flights == nil {
		return e.ask(ctx, locking, []any{dest}, query, args...)
	}
	if err := e.makeTables(ctx); err != nil {
		return err
	}
	if e.life.Err() != nil {
		return errClosed
	}
	r := &request{query: query, values: encode(args), errand: errand}
	if err := e.flights.ask(ctx, r); err != nil || errand.isDone() {
		return e.lacking(ctx, locking, err)
	}
	return decode(r.row, dest)
}
