package sqlite

import (
	"context"
	"errors"
	"os"

	"github.com/leasehold-go/leasehold/driver"
)

// view is what a transaction or a reader sees: a connection and a moment.
type view struct {
	*conn
	now   int64
	start driver.Instant // surely not after now
}

// change runs f in one transaction that has the file to itself. If f returns an
// error, the transaction is undone. A "no" that leaves something
// behind in the file is no error of f.
//
// f may be called several times, each time on a file that the calls before have
// not changed.
func (e *Engine) change(ctx context.Context, c *conn, f func(*view) error) error {
	if e.readOnly {
		return e.failure(errReadOnly)
	}
	if err := e.enter(ctx); err != nil {
		return e.failure(err)
	}
	defer e.leave()
	for {
		err := e.transact(ctx, c, f)
		if !errors.Is(err, errMark) {
			return err
		}
		switch err := e.transact(ctx, e.durable, raiseMark); {
		case driver.HadNoEffect(err):
			return err
		case err != nil:
			// Whether the mark is raised is not known, but f has had no effect.
			return driver.NoEffect(err)
		}
	}
}

// enter waits until the caller alone uses the connections that change the file.
func (e *Engine) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case e.gate <- struct{}{}:
	case <-e.life.Done():
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.life.Err() != nil {
		e.leave()
		return errClosed
	}
	return nil
}

func (e *Engine) leave() { <-e.gate }

// transact needs the gate.
func (e *Engine) transact(ctx context.Context, c *conn, f func(*view) error) error {
	v := &view{conn: c}
	if err := e.begin(ctx, v); err != nil {
		return e.failure(err)
	}
	// Read inside the transaction: the order of changes is the order of their times.
	v.now = e.clock.now()
	if err := f(v); err != nil {
		c.rollback()
		return e.failure(err)
	}
	if _, err := c.exec("COMMIT"); err != nil {
		c.rollback()
		if isBusy(err) {
			return e.failure(err)
		}
		return e.unknown(err)
	}
	return nil
}

// begin starts a transaction, in the competition with other processes.
func (e *Engine) begin(ctx context.Context, v *view) error {
	var t turn
	for {
		if err := e.checkFile(); err != nil {
			return err
		}
		v.start = driver.Now()
		_, err := v.exec("BEGIN IMMEDIATE")
		if !isBusy(err) {
			return err
		}
		if err := t.again(ctx, e.busyLimit); err != nil {
			return err
		}
	}
}

// rollback undoes a transaction. If that fails, the connection is given up, which undoes it too.
func (c *conn) rollback() {
	if _, err := c.exec("ROLLBACK"); err != nil {
		_ = c.close() // nothing can be done about it, and the next use connects anew
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

// read runs f on a connection that only reads, without locking anybody out. f may
// be called several times.
func (e *Engine) read(ctx context.Context, f func(*view) error) error {
	if err := ctx.Err(); err != nil {
		return e.failure(err)
	}
	var c *conn
	select {
	case c = <-e.readers:
	case <-e.life.Done():
		return e.failure(errClosed)
	case <-ctx.Done():
		return e.failure(ctx.Err())
	}
	defer func() { e.readers <- c }()
	if e.readOnly {
		return e.failure(e.readReadOnly(ctx, f))
	}
	var t turn
	for {
		err := f(&view{conn: c, now: e.clock.now()})
		if !isBusy(err) {
			return e.failure(err)
		}
		if err := t.again(ctx, e.busyLimit); err != nil {
			return e.failure(err)
		}
	}
}
