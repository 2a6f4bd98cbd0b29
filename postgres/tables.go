package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// makeLimit is how long it may take to make the tables. Whoever waits for that is let go when his context ends; the tables are made all the same.
const makeLimit = 30 * time.Second

// tables sees to it that the tables are made by the first request that changes something, and not by one that only looks: who looks needs no right to
// make them. Until then there is nothing to see.
type tables struct {
	due     atomic.Bool // they were missing, or those of an earlier version, and are this engine's to make
	mu      sync.Mutex
	stopped bool
	making  *making // nil if nobody makes them
	running sync.WaitGroup
}

// making is one attempt.
type making struct {
	done chan struct{}
	err  error
}

// makeTables makes the tables if that is due. It changes no lock, so a request that was not sent for its sake had no effect.
func (e *Engine) makeTables(ctx context.Context) error {
	t := &e.tables
	if !t.due.Load() {
		return nil
	}
	t.mu.Lock()
	if t.stopped {
		t.mu.Unlock()
		return errClosed
	}
	if t.making == nil {
		t.making = &making{done: make(chan struct{})}
		t.running.Go(e.runMaking)
	}
	m := t.making
	t.mu.Unlock()
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
		return driver.NoEffect(ctx.Err())
	}
}

// runMaking is one attempt to make the tables. It has a time limit of its own: that of a request may be too short for it each time.
func (e *Engine) runMaking() {
	ctx, cancel := context.WithTimeout(e.life, makeLimit)
	defer cancel()
	err := Migrate(ctx, e.pool, e.schema)
	t := &e.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.due.Store(false)
	}
	t.making.err = err
	close(t.making.done)
	t.making = nil
}

// stop waits until nobody makes the tables any more. The life of the engine has ended.
func (t *tables) stop() {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	t.running.Wait()
}

// bare reports whether there are no tables yet, so that there is nothing to see. Another program may have made them since this engine was opened.
func (e *Engine) bare(ctx context.Context) (bool, error) {
	if !e.tables.due.Load() {
		return false, nil
	}
	at, err := e.version(ctx)
	return at == 0 && err == nil, err
}

// version is that of the tables, 0 if there are none. Those of a version that is not known are an error.
func (e *Engine) version(ctx context.Context) (at int, err error) {
	if e.life.Err() != nil {
		return 0, errClosed
	}
	texts, err := migrations(e.schema)
	if err != nil {
		return 0, driver.Permanent(err)
	}
	at, err = versionOf(ctx, e.pool, e.schema)
	if err != nil {
		return 0, noEffect(e.lacking(ctx, looking, explain(err)))
	}
	if at > len(texts) {
		return 0, newer(e.schema, at, len(texts))
	}
	return at, nil
}

// checkTables looks at the tables when the engine is opened. Those that are missing, or are of an earlier version, are made by the first request that
// changes something, unless they are not this engine's to make.
func (e *Engine) checkTables(ctx context.Context, makes bool) error {
	at, err := e.version(ctx)
	if err != nil {
		return err
	}
	known, err := migrations(e.schema)
	if err != nil {
		return driver.Permanent(err)
	}
	switch {
	case at == len(known):
	case makes:
		e.tables.due.Store(true)
	case at == 0:
		return noTables(e.schema)
	default:
		return older(e.schema, at, len(known))
	}
	return nil
}
