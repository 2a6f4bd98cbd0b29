package fence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"sync"
	"testing"
)

// fakeDB is a database that only records the statements it gets, and answers as configured.
type fakeDB struct {
	mu   sync.Mutex
	sent []string

	affected int64   // for each statement that is executed
	rows     []int64 // the answers of queries in order; after them there is no row
	execErr  error
	queryErr error
	beginErr error
	commit   error
	noCount  error // instead of affected
}

// open returns the fake as a database, which the test closes.
func (f *fakeDB) open(t *testing.T) *sql.DB {
	t.Helper()
	db := sql.OpenDB(f)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing the database: %v", err)
		}
	})
	return db
}

func (f *fakeDB) note(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, text)
}

func (f *fakeDB) Connect(context.Context) (driver.Conn, error) { return fakeConn{f}, nil }
func (f *fakeDB) Driver() driver.Driver                        { return nil }

type fakeConn struct{ *fakeDB }

func (fakeConn) Close() error { return nil }

func (c fakeConn) Prepare(query string) (driver.Stmt, error) { return nil, io.ErrUnexpectedEOF }

func (c fakeConn) Begin() (driver.Tx, error) { return nil, io.ErrUnexpectedEOF }

func (c fakeConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	c.note("begin")
	return fakeTx(c), c.beginErr
}

func (c fakeConn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	c.note(query)
	return c, c.execErr
}

func (c fakeConn) LastInsertId() (int64, error) { return 0, io.ErrUnexpectedEOF }
func (c fakeConn) RowsAffected() (int64, error) { return c.affected, c.noCount }

func (c fakeConn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	c.note(query)
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &fakeRows{}
	if len(c.rows) > 0 {
		r.left, c.rows = c.rows[:1], c.rows[1:]
	}
	return r, c.queryErr
}

type fakeRows struct{ left []int64 }

func (r *fakeRows) Columns() []string { return []string{"n"} }
func (r *fakeRows) Close() error      { return nil }

func (r *fakeRows) Next(to []driver.Value) error {
	if len(r.left) == 0 {
		return io.EOF
	}
	to[0], r.left = r.left[0], nil
	return nil
}

type fakeTx fakeConn

func (t fakeTx) Commit() error {
	t.note("commit")
	return t.commit
}

func (t fakeTx) Rollback() error {
	t.note("rollback")
	return nil
}
