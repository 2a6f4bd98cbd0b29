package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// migrateTimeout is how long it may take to make the tables. A request stops waiting for them when its context ends,
// but they are made all the same.
const migrateTimeout = 30 * time.Second

// tables has the tables made by the first request that changes something. A request that only reads does not make them,
// because it may lack the right to; until they are made there is nothing to read.
type tables struct {
	pending atomic.Bool // the tables are missing or of an earlier version, and this engine is to make them
	mu      sync.Mutex
	stopped bool
	run     *migrationRun // nil if no attempt is running
	running sync.WaitGroup
}

// migrationRun is one attempt to make the tables.
type migrationRun struct {
	done chan struct{}
	err  error
}

// makeTables makes the tables if that is pending. It changes no lock, so a request that waits for it in vain had no
// effect.
func (e *Engine) makeTables(ctx context.Context) error {
	t := &e.tables
	if !t.pending.Load() {
		return nil
	}
	t.mu.Lock()
	if t.stopped {
		t.mu.Unlock()
		return errClosed
	}
	if t.run == nil {
		t.run = &migrationRun{done: make(chan struct{})}
		t.running.Go(e.runMigration)
	}
	m := t.run
	t.mu.Unlock()
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
		return driver.NoEffect(ctx.Err())
	}
}

// runMigration is one attempt to make the tables. It has a timeout of its own, because that of each request may be too
// short.
func (e *Engine) runMigration() {
	ctx, cancel := context.WithTimeout(e.ctx, migrateTimeout)
	defer cancel()
	err := Migrate(ctx, e.pool, e.schema)
	t := &e.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.pending.Store(false)
	}
	t.run.err = err
	close(t.run.done)
	t.run = nil
}

// stop waits until no attempt is running. The engine's context has ended.
func (t *tables) stop() {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	t.running.Wait()
}

// hasNoTables reports whether there are no tables yet, so that there is nothing to read. It asks the server, because
// another program may have made them since this engine was opened.
func (e *Engine) hasNoTables(ctx context.Context) (bool, error) {
	if !e.tables.pending.Load() {
		return false, nil
	}
	at, err := e.tablesVersion(ctx)
	return at == 0 && err == nil, err
}

// tablesVersion returns the version of the tables, or 0 if there are none. An unknown version is an error.
func (e *Engine) tablesVersion(ctx context.Context) (at int, err error) {
	if e.ctx.Err() != nil {
		return 0, errClosed
	}
	texts, err := migrations(e.schema)
	if err != nil {
		return 0, driver.Permanent(err)
	}
	at, err = versionOf(ctx, e.pool, e.schema)
	if err != nil {
		return 0, noEffect(e.explainMissingRight(ctx, toLook, explain(err)))
	}
	if at > len(texts) {
		return 0, newerVersionError(e.schema, at, len(texts))
	}
	return at, nil
}

// checkTables checks the tables when the engine is opened. If they are missing or of an earlier version, the first
// request that changes something will make them. Without migrate it is an error.
func (e *Engine) checkTables(ctx context.Context, migrate bool) error {
	at, err := e.tablesVersion(ctx)
	if err != nil {
		return err
	}
	known, err := migrations(e.schema)
	if err != nil {
		return driver.Permanent(err)
	}
	switch {
	case at == len(known):
	case migrate:
		e.tables.pending.Store(true)
	case at == 0:
		return noTablesError(e.schema)
	default:
		return olderVersionError(e.schema, at, len(known))
	}
	return nil
}
