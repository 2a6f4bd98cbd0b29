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

// This file is for a user who may read the file of the locks, and may not write it. SQLite reads a log (-wal) only together with an index that is shared by
// all who use the file (-shm). Whoever may write the file makes both. While somebody uses it, they are there, and nothing is special about reading. While nobody
// does, they are not, and cannot be made by one who may not write the folder: but then all that there is stands in the file itself, and nobody changes it.
// So it is read as one that does not change (immutable), and read again if it has changed meanwhile, or somebody has begun to use it.

var (
	errReadOnly = errors.New("this user may look at the locks in the file, and change nothing: give it the right to write the file and its folder")
	errNoLocks  = errors.New("there is nothing in it yet, and this user may not write it: let a user use it first who may")
	errOldTimes = errors.New("nobody has used the file since the machine was started, and its times are those of before: let a user use it first who may write it")
)

// settled is for how long a file must not have been changed to count as one that nobody changes: more than the grain of its times.
const settled = 50 * time.Millisecond

// looksOnly reports whether this user may not write what SQLite writes.
func looksOnly(path string) bool {
	if !mayWrite(path) {
		return true
	}
	_, err := os.Stat(path + "-shm")
	return err != nil && !mayWrite(filepath.Dir(path))
}

// rest is what is seen of a file from outside.
type rest struct {
	used    bool // there is a log
	size    int64
	changed time.Time
}

func (e *Engine) seen() (r rest, err error) {
	if err := e.checkFile(); err != nil {
		return r, err
	}
	file, err := os.Stat(e.path)
	if err != nil {
		return r, err
	}
	switch _, err := os.Stat(e.path + "-wal"); {
	case err == nil:
		r.used = true
	case !errors.Is(err, os.ErrNotExist):
		return r, err
	default:
		r.size, r.changed = file.Size(), file.ModTime()
	}
	return r, nil
}

// unsettled reports whether the file may be changed once more without being seen.
func (r rest) unsettled() bool {
	age := time.Since(r.changed)
	return !r.used && age >= 0 && age < settled
}

// readOnlyOnce runs f on a connection of its own. It reports whether what f has seen was there at one moment.
func (e *Engine) readOnlyOnce(f func(*view) error) (sound bool, err error) {
	before, err := e.seen()
	if err != nil {
		return true, err
	}
	if before.unsettled() {
		return false, nil
	}
	mode := "ro"
	if !before.used {
		mode += "&immutable=1"
	}
	db, err := sql.Open("sqlite", address(e.path, mode))
	if err != nil {
		return true, err
	}
	c := &conn{db: db, flush: flushSometimes}
	err = f(&view{conn: c, now: e.clock.now()})
	err = errors.Join(err, c.close(), db.Close())
	after, failed := e.seen()
	if failed != nil {
		return true, failed
	}
	return before == after, err
}

// readReadOnly is read for one who may not write.
func (e *Engine) readReadOnly(ctx context.Context, f func(*view) error) error {
	return e.persist(ctx, func(v *view) error {
		var boot string
		if err := v.row([]any{&boot}, "SELECT boot FROM meta"); err != nil {
			return err
		}
		if boot != e.clock.boot {
			return errOldTimes
		}
		return f(v)
	})
}

// persist runs f until what it has seen was there at one moment.
func (e *Engine) persist(ctx context.Context, f func(*view) error) error {
	var t turn
	for unopened := 0; ; {
		if e.life.Err() != nil {
			return errClosed
		}
		sound, err := e.readOnlyOnce(f)
		if isUnopened(err) {
			unopened++ // the log may have gone and come back meanwhile
		}
		if sound && !isBusy(err) && (!isUnopened(err) || unopened == mostUnopened) {
			return err
		}
		if err := t.again(ctx, e.busyLimit); err != nil {
			return err
		}
	}
}

// mostUnopened is how often it is tried to open a log that is there.
const mostUnopened = 5

// isUnopened reports whether err says that a log, or its index, is not there or cannot be opened.
func isUnopened(err error) bool {
	code := resultCode(err)
	return code == lib.SQLITE_CANTOPEN || code == lib.SQLITE_READONLY
}

// lookOver makes sure that the file is ours.
func (e *Engine) lookOver() error {
	var h header
	err := e.persist(context.Background(), func(v *view) (err error) {
		h, err = headerAtOnce(v.conn)
		return err
	})
	switch {
	case err != nil:
		return err
	case h.empty():
		return errNoLocks
	}
	return h.check()
}
