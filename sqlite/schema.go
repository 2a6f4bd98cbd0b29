package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
)

//go:embed schema.sql
var schema string

const (
	// applicationID marks the file as one of this package: "Lsh1".
	applicationID = 0x4c736831
	// schemaVersion grows when the tables change in a way that earlier programs would not understand.
	schemaVersion = 1
)

// header is what a file says about itself.
type header struct {
	application, version int64
	tables               int64
	boot                 string
	hasAllTables         bool // also those that early versions have not made
}

func (h header) isEmpty() bool { return h.application == 0 && h.version == 0 && h.tables == 0 }
func (h header) isOurs() bool  { return h.application == applicationID }

func readHeader(c *conn) (h header, err error) {
	// One after the other: the pragmas cannot be part of a SELECT before their values are known to be current.
	if err = c.row([]any{&h.tables}, "SELECT count(*) FROM sqlite_schema"); err != nil {
		return h, err
	}
	if err = c.row([]any{&h.application}, "PRAGMA application_id"); err != nil {
		return h, err
	}
	return h, c.row([]any{&h.version}, "PRAGMA user_version")
}

// readHeaderOnce is readHeader for callers outside of a transaction: another process may create the tables at the same
// time.
func readHeaderOnce(c *conn) (h header, err error) {
	if _, err = c.exec("BEGIN"); err != nil {
		return h, err
	}
	defer c.rollback()
	return readHeader(c)
}

// check refuses a file of another application, or of a newer version.
func (h header) check() error {
	switch {
	case h.isEmpty():
		return nil
	case !h.isOurs():
		return fmt.Errorf("it is the database of another application (application_id %#x, %d tables): "+
			"choose another path",
			h.application, h.tables)
	case h.version > schemaVersion:
		return fmt.Errorf("it was made by a newer version of this package (schema %d, known up to %d): "+
			"update this program",
			h.version, schemaVersion)
	}
	return nil
}

// initTables creates the tables if the file is empty, and moves the file to this boot if it comes from another.
func (e *Engine) initTables(v *view) error {
	h, err := readHeader(v.conn)
	if err != nil {
		return err
	}
	if err := h.check(); err != nil { // another process may have initialised it meanwhile
		return err
	}
	if h.isEmpty() {
		return e.createTables(v)
	}
	if _, err := v.conn.conn.ExecContext(context.Background(), removals+dataTable); err != nil {
		return err
	}
	return e.moveToThisBoot(v)
}

// createTables creates the tables.
func (e *Engine) createTables(v *view) error {
	marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion)
	if _, err := v.conn.conn.ExecContext(context.Background(), schema+removals+dataTable+marks); err != nil {
		return err
	}
	_, err := v.exec("INSERT INTO meta (id, boot, last, mark) VALUES (1, ?, 0, ?)", e.clock.boot, tokenStep)
	return err
}

// readBoot returns the start of the machine under which the file was last in use.
func readBoot(v *view) (boot string, err error) {
	err = v.row([]any{&boot}, "SELECT boot FROM meta")
	if errors.Is(err, sql.ErrNoRows) {
		err = errMeta
	}
	return boot, err
}

// moveToThisBoot moves the file to this start of the machine. All holders and waiters are gone with the last one. But
// the stored times have no meaning any more, so every lease starts again: what was promised with Keep holds, and a
// holder that has survived nevertheless is safe.
func (e *Engine) moveToThisBoot(v *view) error {
	if boot, err := readBoot(v); err != nil || boot == e.clock.boot {
		return err
	}
	if _, err := v.exec("UPDATE holders SET expires = ? + ttl, granted = NULL", v.now); err != nil {
		return err
	}
	if _, err := v.exec("UPDATE latches SET expires = ? + ttl", v.now); err != nil {
		return err
	}
	if _, err := v.exec("DELETE FROM waiters"); err != nil {
		return err
	}
	// Tokens up to the mark may have been issued, although the file does not know it any more.
	_, err := v.exec("UPDATE meta SET boot = ?, last = mark, mark = mark + ?", e.clock.boot, tokenStep)
	return err
}
