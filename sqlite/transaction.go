package sqlite

import (
	"context"
	"errors"
	"os"

	"github.com/leasehold-go/leasehold/driver"
)

// view is what a transaction or a reader works with: a connection and a time.
type view struct {
	*conn
	now   int64
	start driver.Instant // certainly not after now
}

// change runs f in one transaction that has the file to itself. If f returns an error, the transaction is undone. A
// refusal that leaves something in the file is therefore no error of f.
//
// f may be called several times, each time on a file that the calls before have not changed.
func (e *Engine) change(ctx context.Context, c *conn, f func(*view) error) error {
	if e.readOnly {
		return e.noEffectError(errReadOnly)
	}
	if err := e.lockWriter(ctx); err != nil {
		return e.noEffectError(err)
	}
	defer e.unlockWriter()
	for {
		err := e.transactLocked(ctx, c, f)
		if !errors.Is(err, errTokenMarkReached) {
			return err
		}
		switch err := e.transactLocked(ctx, e.durable, raiseTokenMark); {
		case driver.HadNoEffect(err):
			return err
		case err != nil:
			// Whether the mark was raised is unknown, but f has had no effect.
			return driver.NoEffect(err)
		}
	}
}

// lockWriter waits until the caller has the connections that change the file to itself.
func (e *Engine) lockWriter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case e.writer <- struct{}{}:
	case <-e.ctx.Done():
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.ctx.Err() != nil {
		e.unlockWriter()
		return errClosed
	}
	return nil
}

func (e *Engine) unlockWriter() { <-e.writer }

// transactLocked runs f in one transaction. The caller must have called lockWriter.
func (e *Engine) transactLocked(ctx context.Context, c *conn, f func(*view) error) error {
	v := &view{conn: c}
	if err := e.begin(ctx, v); err != nil {
		return e.noEffectError(err)
	}
	// Read inside the transaction, so that the order of changes is the order of their times.
	v.now = e.clock.now()
	if err := f(v); err != nil {
		c.rollback()
		return e.noEffectError(err)
	}
	if _, err := c.exec("COMMIT"); err != nil {
		c.rollback()
		if isBusy(err) {
			return e.noEffectError(err)
		}
		return e.unknownError(err)
	}
	return nil
}

// begin starts a transaction, as soon as no other process has the file locked.
func (e *Engine) begin(ctx context.Context, v *view) error {
	var retry busyRetry
	for {
		if err := e.checkFile(); err != nil {
			return err
		}
		v.start = driver.Now()
		_, err := v.exec("BEGIN IMMEDIATE")
		if !isBusy(err) {
			return err
		}
		if err := retry.wait(ctx, e.busyLimit); err != nil {
			return err
		}
	}
}

// rollback undoes a transaction. If that fails, it closes the connection, which undoes it too.
func (c *conn) rollback() {
	if _, err := c.exec("ROLLBACK"); err != nil {
		_ = c.close() // nothing can be done about it, and the next use connects again
	}
}

// checkFile makes sure that the path still leads to the file that is open.
func (e *Engine) checkFile() error {
	now, err := os.Stat(e.path)
	if err != nil {
		return errors.Join(errMoved, err)
	}
	if !os.SameFile(e.file, now) {
		return errMoved
	}
	return nil
}

// read runs f on a connection that only reads, without locking anybody out. f may be called several times.
func (e *Engine) read(ctx context.Context, f func(*view) error) error {
	if err := ctx.Err(); err != nil {
		return e.noEffectError(err)
	}
	var c *conn
	select {
	case c = <-e.readers:
	case <-e.ctx.Done():
		return e.noEffectError(errClosed)
	case <-ctx.Done():
		return e.noEffectError(ctx.Err())
	}
	defer func() { e.readers <- c }()
	if e.readOnly {
		return e.noEffectError(e.readReadOnly(ctx, f))
	}
	var retry busyRetry
	for {
		err := f(&view{conn: c, now: e.clock.now()})
		if !isBusy(err) {
			return e.noEffectError(err)
		}
		if err := retry.wait(ctx, e.busyLimit); err != nil {
			return e.noEffectError(err)
		}
	}
}
