package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// How a connection flushes what it commits. See https://www.sqlite.org/pragma.html#pragma_synchronous.
const (
	// flushSometimes leaves flushing to the checkpoints: a crash of the machine may lose the last commits, but never
	// changes their order.
	flushSometimes = "NORMAL"
	// flushAlways flushes each commit, and with it all earlier ones.
	flushAlways = "FULL"
)

// conn is one connection to the file. It connects when it is first used, and keeps its statements prepared. Only one
// goroutine may use it at a time.
//
// Its statements are not cancelled: watching a context would take a goroutine for each, and all of them are short. What
// a context ends is the waiting around them.
type conn struct {
	db       *sql.DB
	flush    string
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

// connSetup prepares a connection. A log of up to 16 MB is checkpointed into the file at once. Locks rewrite few pages
// many times, so that this takes far fewer flushes than SQLite's default of 4 MB.
const connSetup = `PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 33554432; PRAGMA synchronous = `

func (c *conn) connect() error {
	if c.conn != nil {
		return nil
	}
	fresh, err := c.db.Conn(context.Background())
	if err != nil {
		return err
	}
	if _, err := fresh.ExecContext(context.Background(), connSetup+c.flush); err != nil {
		_ = fresh.Close() // the first error is the one that matters
		return err
	}
	c.conn, c.prepared = fresh, make(map[string]*sql.Stmt)
	return nil
}

// close closes the connection, which undoes a transaction that is open on it.
func (c *conn) close() error {
	if c.conn == nil {
		return nil
	}
	for _, s := range c.prepared {
		_ = s.Close() // closing the connection frees it in any case
	}
	err := c.conn.Close()
	c.conn, c.prepared = nil, nil
	return err
}

func (c *conn) statement(query string) (*sql.Stmt, error) {
	if err := c.connect(); err != nil {
		return nil, err
	}
	if s, ok := c.prepared[query]; ok {
		return s, nil
	}
	s, err := c.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	c.prepared[query] = s
	return s, nil
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.statement(query)
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads one row into dest. It returns sql.ErrNoRows if there is none.
func (c *conn) row(dest []any, query string, args ...any) error {
	s, err := c.statement(query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(context.Background(), args...).Scan(dest...)
}

// forEach reads rows into dest and calls f after each, until f returns false.
func (c *conn) forEach(dest []any, f func() bool, query string, args ...any) error {
	s, err := c.statement(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			_ = rows.Close() // the first error is the one that matters
			return fmt.Errorf("reading a row: %w", err)
		}
		if !f() {
			break
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	return rows.Err()
}
