package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
)

// readers is the number of connections for reads, and so of reads at the same time.
const readers = 4

// Engine keeps locks in a file. It is safe for concurrent use. Any number of engines, in any number of processes of one
// machine, may have one file open.
type Engine struct {
	unsupported
	path  string
	file  os.FileInfo // as it was when opened
	clock clock

	sharing  Sharing
	readOnly bool // this user lacks the right to write the file, or another file that SQLite writes

	// busyLimit is how long to try while other processes have the file locked.
	busyLimit time.Duration

	db     *sql.DB
	writer chan struct{} // full while somebody uses fast or durable

	fast    *conn // for changes that a crash of the machine may undo
	durable *conn // for changes that it must not undo
	readers chan *conn

	watcher watcher
	workers detach.Pool // for calls that their callers may leave

	ctx      context.Context // done as soon as Close is called
	cancel   context.CancelFunc
	close    sync.Once
	closeErr error
}

// unsupported answers calls of what this engine cannot do.
type unsupported = driver.Unsupported

var (
	_ driver.Engine     = (*Engine)(nil)
	_ driver.Operator   = (*Engine)(nil)
	_ driver.Latcher    = (*Engine)(nil)
	_ driver.DataKeeper = (*Engine)(nil)
)

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	return driver.Abilities{
		Name:       "sqlite",
		Shared:     true,
		Semaphores: true,
		Waiters:    true,
		Fair:       true,
	}
}

// Close ends all calls that wait, and closes the file. What is held stays held until its lease expires: release it
// before. Calls after Close fail. Close may be called many times.
func (e *Engine) Close() error {
	e.close.Do(func() {
		e.closeErr = e.closeAll()
		e.workers.Close()
	})
	return e.closeErr
}

func (e *Engine) closeAll() error {
	e.watcher.stop()
	var errs []error
	for range readers {
		errs = append(errs, (<-e.readers).close())
	}
	e.writer <- struct{}{} // and never unlock
	errs = append(errs, e.fast.close(), e.durable.close(), e.db.Close())
	return errors.Join(errs...)
}
