package sqlite

import (
	"context"
	_ "embed"
	"fmt"
)

//go:embed schema.sql
var schema string

const (
	// applicationID marks the file as ours: "Lsh1".
	applicationID = 0x4c736831
	// schemaVersion grows when the tables change in a way that programs of before would not understand.
	schemaVersion = 1
)

// header is what a file says of itself.
type header struct {
	application, version int64
	tables               int64
	boot                 string
	recorded             bool // there is a table for removals
}

func (h header) empty() bool { return h.application == 0 && h.version == 0 && h.tables == 0 }
func (h header) ours() bool  { return h.application == applicationID }

func readHeader(c *conn) (h header, err error) {
	// One after the other: the pragmas cannot be part of a SELECT before their
	// values are known to be current.
	if err = c.row([]any{&h.tables}, "SELECT count(*) FROM sqlite_schema"); err != nil {
		return h, err
	}
	if err = c.row([]any{&h.application}, "PRAGMA application_id"); err != nil {
		return h, err
	}
	return h, c.row([]any{&h.version}, "PRAGMA user_version")
}

// headerAtOnce is readHeader outside of a transaction: another process may found the file meanwhile.
func headerAtOnce(c *conn) (h header, err error) {
	if _, err = c.exec("BEGIN"); err != nil {
		return h, err
	}
	defer c.rollback()
	return readHeader(c)
}

// check refuses a file that is somebody else's.
func (h header) check() error {
	switch {
	case h.empty():
		return nil
	case !h.ours():
		return fmt.Errorf("it is the database of another application (application_id %#x, %d tables): choose another path", h.application, h.tables)
	case h.version > schemaVersion:
		return fmt.Errorf("it was made by a newer version of this package (schema %d, known up to %d): update this program", h.version, schemaVersion)
	}
	return nil
}

// settle founds the file if it is empty, and moves it to this boot if it comes
// from another.
func (e *Engine) settle(v *view) error {
	h, err := readHeader(v.conn)
	if err != nil {
		return err
	}
	if err := h.check(); err != nil { // another process may have been here meanwhile
		return err
	}
	if h.empty() {
		return e.lay(v)
	}
	if _, err := v.conn.conn.ExecContext(context.Background(), removals); err != nil {
		return err
	}
	return e.reboot(v)
}

// lay makes the tables.
func (e *Engine) lay(v *view) error {
	marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion)
	if _, err := v.conn.conn.ExecContext(context.Background(), schema+removals+marks); err != nil {
		return err
	}
	_, err := v.exec("INSERT INTO meta (id, boot, last, mark) VALUES (1, ?, 0, ?)", e.clock.boot, markStep)
	return err
}

// reboot moves the file to this start of the machine. All who held and waited are
// gone with the last one. But the old times mean nothing any more, so every lease
// starts anew: what was promised with Keep holds, and a holder that lives on against
// all odds is safe.
func (e *Engine) reboot(v *view) error {
	var boot string
	if err := v.row([]any{&boot}, "SELECT boot FROM meta"); err != nil || boot == e.clock.boot {
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
	// Tokens up to the mark may have been given out, although the file no longer knows.
	_, err := v.exec("UPDATE meta SET boot = ?, last = mark, mark = mark + ?", e.clock.boot, markStep)
	return err
}
