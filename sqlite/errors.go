package sqlite

import (
	"errors"
	"fmt"

	modernc "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/leasehold-go/leasehold/driver"
)

var (
	errClosed = errors.New("the engine has been closed: open the file again")
	errBusy   = errors.New("other processes kept the file busy for too long: " +
		"try again, or spread the locks over several files")
	errMoved = errors.New("the file has been removed or replaced while in use, " +
		"so what is held in it excludes nobody who uses the new file: close the engine and open the path again")
	errBoot = errors.New("the file has been opened under another start of the machine, or by another kernel: " +
		"close the engine and open the path again; machines and virtual machines cannot share a file")
	errSpent = errors.New("the file has given out all tokens below 2^53: " +
		"use a new file, once nobody compares its tokens with the old ones")

	errLatch  = errors.New("somebody else has written into the latch: delete its row from the table latches")
	errTokens = errors.New("somebody else has written into the row of the holder: release the lock by force")
	errMeta   = errors.New("somebody else has emptied the table meta, so nobody knows which tokens were given: " +
		"stop all programs, and use a new file, once nobody compares its tokens with the old ones")
	errLast = errors.New("somebody else has written into the table meta: " +
		"set its column last to a number above all tokens that were given")

	// errTokenMarkReached asks the caller to raise the mark, and to run the transaction again.
	errTokenMarkReached = errors.New("the mark is reached")
)

// noEffectError wraps the error of a transaction that failed before its COMMIT, and so certainly had no effect. An
// error that would come again is marked as permanent.
func (e *Engine) noEffectError(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	err = fmt.Errorf("sqlite: %s: %w", e.path, explain(err))
	if isPermanent(err) {
		return driver.Permanent(err)
	}
	return driver.NoEffect(err)
}

// unknownError wraps the error of a COMMIT, whose outcome is unknown.
func (e *Engine) unknownError(err error) error {
	return fmt.Errorf("sqlite: %s: the change may or may not be in the file: %w", e.path, explain(err))
}

func isPermanent(err error) bool {
	for _, known := range []error{
		errClosed, errMoved, errBoot, errSpent, errReadOnly, errLatch, errTokens, errMeta, errLast,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	switch resultCode(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH,
		lib.SQLITE_ERROR: // our own statements are correct, so the tables have been changed
		return true
	}
	return false
}

// isBusy reports whether err only says that another process has the file locked.
func isBusy(err error) bool {
	switch resultCode(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// resultCode returns the primary result code of SQLite, or -1.
// See https://www.sqlite.org/rescode.html.
func resultCode(err error) int {
	if e, ok := errors.AsType[*modernc.Error](err); ok {
		return e.Code() & 0xff
	}
	return -1
}

// explain adds what the user can do to an error of SQLite.
func explain(err error) error {
	var fix string
	switch resultCode(err) {
	case lib.SQLITE_CORRUPT:
		fix = "the file is damaged: stop all who use it, move it away with its -wal and -shm, " +
			"and let a new one be made; tokens then start anew"
	case lib.SQLITE_NOTADB:
		fix = "the file is not a SQLite database: choose another path"
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		fix = "the file or its folder cannot be written: give this user the right to write both"
	case lib.SQLITE_CANTOPEN:
		fix = "the file, or its -wal or -shm beside it, cannot be opened: " +
			"check the rights to its folder and the limit of open files"
	case lib.SQLITE_FULL:
		fix = "the disk is full: make room"
	case lib.SQLITE_IOERR:
		fix = "the disk or the file system failed: check them"
	case lib.SQLITE_ERROR:
		fix = "the tables are not those of a lock file: has something else written to it?"
	default:
		return err
	}
	return fmt.Errorf("%s: %w", fix, err)
}
