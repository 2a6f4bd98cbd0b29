package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"time"

	lib "modernc.org/sqlite/lib"
)

// This file is for a user that may read the file and not write it. SQLite reads a log (-wal) only together with an
// index that all users of the file share (-shm). A user that may write the file creates both. While somebody uses the
// file, they exist, and reading needs nothing special. While nobody does, they do not exist, and a user without the
// right to write the folder cannot create them. But then everything is in the file itself, and nobody changes it. So it
// is opened as a file that does not change (immutable), and read again if it has changed meanwhile, or somebody has
// begun to use it.

var (
	errReadOnly = errors.New("this user can list the locks in the file, but cannot change them: " +
		"give it the right to write the file and its folder")
	errNoLocks = errors.New("there is nothing in it yet, and this user may not write it: " +
		"let a user who may write it use it first")
	errOldTimes = errors.New("nobody has used the file since the machine was started, " +
		"and its times are those of before: let a user who may write it use it first")
)

// settleTime is how long a file must not have changed to count as not changing. It is longer than the resolution of
// file times.
const settleTime = 50 * time.Millisecond

// isReadOnly reports whether this user lacks the right to write a file that SQLite writes.
func isReadOnly(path string) bool {
	if !mayWrite(path) {
		return true
	}
	_, err := os.Stat(path + "-shm")
	return err != nil && !mayWrite(filepath.Dir(path))
}

// fileState is what can be seen of a file without opening it.
type fileState struct {
	hasLog  bool // there is a log
	size    int64
	changed time.Time
}

func (e *Engine) statFile() (s fileState, err error) {
	if err := e.checkFile(); err != nil {
		return s, err
	}
	file, err := os.Stat(e.path)
	if err != nil {
		return s, err
	}
	switch _, err := os.Stat(e.path + "-wal"); {
	case err == nil:
		s.hasLog = true
	case !errors.Is(err, os.ErrNotExist):
		return s, err
	default:
		s.size, s.changed = file.Size(), file.ModTime()
	}
	return s, nil
}

// mayChangeUnseen reports whether the file could change once more with the same time.
func (s fileState) mayChangeUnseen() bool {
	age := time.Since(s.changed)
	return !s.hasLog && age >= 0 && age < settleTime
}

// readOnlyOnce runs f on a connection of its own. It reports whether everything that f has read existed at one moment.
func (e *Engine) readOnlyOnce(f func(*view) error) (sound bool, err error) {
	before, err := e.statFile()
	if err != nil {
		return true, err
	}
	if before.mayChangeUnseen() {
		return false, nil
	}
	mode := "ro"
	if !before.hasLog {
		mode += "&immutable=1"
	}
	db, err := sql.Open("sqlite", address(e.path, mode))
	if err != nil {
		return true, err
	}
	c := &conn{db: db, flush: flushSometimes}
	err = f(&view{conn: c, now: e.clock.now()})
	err = errors.Join(err, c.close(), db.Close())
	after, failed := e.statFile()
	if failed != nil {
		return true, failed
	}
	return before == after, err
}

// readReadOnly is read for a user without the right to write.
func (e *Engine) readReadOnly(ctx context.Context, f func(*view) error) error {
	return e.readStable(ctx, func(v *view) error {
		switch boot, err := readBoot(v); {
		case err != nil:
			return err
		case boot != e.clock.boot:
			return errOldTimes
		}
		return f(v)
	})
}

// readStable runs f until everything that f has read existed at one moment.
func (e *Engine) readStable(ctx context.Context, f func(*view) error) error {
	var retry busyRetry
	for unopened := 0; ; {
		if e.ctx.Err() != nil {
			return errClosed
		}
		sound, err := e.readOnlyOnce(f)
		if isNotOpened(err) {
			unopened++ // the log may have been removed and created again
		}
		if sound && !isBusy(err) && (!isNotOpened(err) || unopened == maxOpenTries) {
			return err
		}
		if err := retry.wait(ctx, e.busyLimit); err != nil {
			return err
		}
	}
}

// maxOpenTries is how often to try to open a log that exists.
const maxOpenTries = 5

// isNotOpened reports whether err says that a log, or its index, does not exist or cannot be opened.
func isNotOpened(err error) bool {
	code := resultCode(err)
	return code == lib.SQLITE_CANTOPEN || code == lib.SQLITE_READONLY
}

// checkReadOnly makes sure that the file is one of this package.
func (e *Engine) checkReadOnly() error {
	var h header
	err := e.readStable(context.Background(), func(v *view) (err error) {
		h, err = readHeaderOnce(v.conn)
		return err
	})
	switch {
	case err != nil:
		return err
	case h.isEmpty():
		return errNoLocks
	}
	return h.check()
}
