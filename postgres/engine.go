package postgres

import (
	"context"
	"fmt"
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
		if e.flights != nil {
			e.flights.stop()
		}
		if e.own {
			e.pool.Close()
		}
	})
	return nil
}

// ask runs a statement that answers with one row.
func (e *Engine) ask(ctx context.Context, dest []any, query string, args ...any) error {
	if e.life.Err() != nil {
		return errClosed
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return notSent(err)
	}
	defer conn.Release()
	return explain(conn.QueryRow(ctx, query, args...).Scan(dest...))
}

// fly is ask for a short statement, which may be sent together with those of other goroutines. Its arguments and answers are of the types of [encode]
// and [decode]. An errand may be answered by at_once instead: then it is done, and dest is left alone.
func (e *Engine) fly(ctx context.Context, errand *errand, dest any, query string, args ...any) error {
	if e.flights == nil {
		return e.ask(ctx, []any{dest}, query, args...)
	}
	if e.life.Err() != nil {
		return errClosed
	}
	r := &request{query: query, values: encode(args), errand: errand}
	if err := e.flights.ask(ctx, r); err != nil || errand.isDone() {
		return err
	}
	return decode(r.row, dest)
}

// checkVersion refuses tables that this version does not know.
func (e *Engine) checkVersion(ctx context.Context) error {
	texts, err := migrations(e.schema)
	if err != nil {
		return driver.Permanent(err)
	}
	var at int
	if err := e.ask(ctx, []any{&at}, e.statements.version); err != nil {
		return noEffect(err)
	}
	if at > len(texts) {
		return newer(e.schema, at, len(texts))
	}
	if at < len(texts) {
		return driver.Permanent(fmt.Errorf("postgres: the tables in the schema %s are those of an older version of this package (%d, needed %d): "+
			"run postgres.Migrate, or open the engine without migrate=off", e.schema, at, len(texts)))
	}
	return nil
}
