package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// readers is how many readings may run at the same time.
const readers = 4

// Engine keeps locks in a file. It is safe for concurrent use. Any number of
// engines, in any number of processes of one machine, may be open on one file.
type Engine struct {
	path  string
	file  os.FileInfo // as it was when it was opened
	clock clock

	sharing  Sharing
	readOnly bool // this user may not write the file, or not all of what SQLite writes

	// busyLimit is how long to try when other processes use the file.
	busyLimit time.Duration

	db   *sql.DB
	gate chan struct{} // full while somebody uses fast or durable

	fast    *conn // for what a crash of the machine may undo
	durable *conn // for what it must not
	readers chan *conn

	watcher watcher

	life     context.Context // ends with Close
	kill     context.CancelFunc
	close    sync.Once
	closeErr error
}

var (
	_ driver.Engine     = (*Engine)(nil)
	_ driver.Downgrader = (*Engine)(nil)
	_ driver.Forcer     = (*Engine)(nil)
	_ driver.Latcher    = (*Engine)(nil)
	_ driver.Sweeper    = (*Engine)(nil)
	_ driver.Recorder   = (*Engine)(nil)
)

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	return driver.Abilities{
		Name:       "sqlite",
		Shared:     true,
		Semaphores: true,
		Latches:    true,
		Force:      true,
		Leaks:      true,
		Records:    true,
		Examine:    true,
		Waiters:    true,
		Fair:       true,
	}
}

// Close ends all calls that wait, and closes the file. What is held stays held until
// its lease ends: release it before. Calls after Close are refused. Close may be
// called many times.
func (e *Engine) Close() error {
	e.close.Do(func() { e.closeErr = e.shut() })
	return e.closeErr
}

func (e *Engine) shut() error {
	e.watcher.stop()
	var errs []error
	for range readers {
		errs = append(errs, (<-e.readers).close())
	}
	e.gate <- struct{}{} // for ever
	errs = append(errs, e.fast.close(), e.durable.close(), e.db.Close())
	return errors.Join(errs...)
}
