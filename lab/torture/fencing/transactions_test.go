package fencing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/leasehold-go/leasehold/fence"
)

// client is one writer's connection to a database.
type client struct {
	begin func() (*sql.Tx, error)
	// try does something in which the other writer may be in the way, and then returns errBlocked.
	// The next try continues it.
	try func(do func() error) error
}

// work is the work of a writer in transactions: the row, its mark, and its progress.
type work struct {
	client
	ctx    context.Context
	mark   fence.Mark
	id     int
	token  uint64
	letter string

	tx    *sql.Tx
	value string // as read
}

// in does a step in the transaction, which it begins if necessary.
func (w *work) in(k kind, do func(tx *sql.Tx) error) step {
	return step{k, func() error {
		if w.tx == nil {
			var err error
			if w.tx, err = w.begin(); err != nil {
				return err
			}
		}
		return w.try(func() error { return do(w.tx) })
	}}
}

func (w *work) raise() step {
	return w.in(raises, func(tx *sql.Tx) error {
		_, err := fence.Raise(w.ctx, tx, w.mark, w.token)
		return err
	})
}

func (w *work) read() step {
	return w.in(reads, func(tx *sql.Tx) error { return tx.QueryRowContext(w.ctx, readRow, w.id).Scan(&w.value) })
}

func (w *work) write() step {
	return w.in(writes,
		func(tx *sql.Tx) error { return written(tx.ExecContext(w.ctx, writeRow, w.value+w.letter, w.id)) })
}

func (w *work) commit() step {
	return w.in(ends, func(tx *sql.Tx) error {
		w.tx = nil
		return tx.Commit()
	})
}

func (w *work) rollback() {
	if w.tx != nil {
		_ = w.tx.Rollback() // it does not matter whether the server still knows of it
	}
}

// raiseAnyhow sets the mark to any token.
func (w *work) raiseAnyhow() step {
	return w.in(raises, func(tx *sql.Tx) error {
		return written(tx.ExecContext(w.ctx, "UPDATE account SET fence = $1 WHERE id = $2", int64(w.token), w.id))
	})
}

// look compares the mark with the token, but does not keep others from raising it.
func (w *work) look() step {
	return w.in(raises, func(tx *sql.Tx) error {
		var have int64
		err := tx.QueryRowContext(w.ctx, "SELECT COALESCE(fence, 0) FROM account WHERE id = $1", w.id).Scan(&have)
		if err == nil && uint64(have) > w.token {
			return fence.ErrStale
		}
		return err
	})
}

// transactions are the right ways to put the steps into transactions, and likely mistakes.
var transactions = map[string]struct {
	right bool
	steps func(w *work) []step
}{
	"one": {true, func(w *work) []step {
		return []step{w.raise(), w.read(), w.write(), w.commit()}
	}},
	"two": {true, func(w *work) []step {
		return []step{w.raise(), w.read(), w.commit(), w.raise(), w.write(), w.commit()}
	}},
	"one that reads before it raises": {false, func(w *work) []step {
		return []step{w.read(), w.raise(), w.write(), w.commit()}
	}},
	"one that reads, and one that raises and writes": {false, func(w *work) []step {
		return []step{w.read(), w.commit(), w.raise(), w.write(), w.commit()}
	}},
	"one that writes before it raises": {false, func(w *work) []step {
		return []step{w.read(), w.write(), w.raise(), w.commit()}
	}},
	"one that raises and reads, and one that only writes": {false, func(w *work) []step {
		return []step{w.raise(), w.read(), w.commit(), w.write(), w.commit()}
	}},
	"one that raises without a condition": {false, func(w *work) []step {
		return []step{w.raiseAnyhow(), w.read(), w.write(), w.commit()}
	}},
	"one that looks at the mark without raising it": {false, func(w *work) []step {
		return []step{w.look(), w.read(), w.write(), w.commit()}
	}},
}

// TestEveryOrderOfTransactions does the same with two real transactions at a time, which wait for
// each other when the database says so.
func TestEveryOrderOfTransactions(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]struct {
		open  func(t *testing.T) (database, [writers]client)
		table bool
	}{
		"PostgreSQL, column": {twoOfPostgres, false},
		"PostgreSQL, table":  {twoOfPostgres, true},
		"SQLite, column":     {twoOfSQLite, false},
		"SQLite, table":      {twoOfSQLite, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, clients := store.open(t)
			id := 0
			for name, p := range transactions {
				t.Run(name, func(t *testing.T) {
					build := func() (w [writers]*writer) {
						id++
						d.exec(t, "INSERT INTO account (id) VALUES ($1)", id)
						mark := account.Mark(id)
						if store.table {
							mark = marks.Mark(fmt.Sprint("account ", id))
						}
						for who := range w {
							one := &work{client: clients[who], ctx: t.Context(), mark: mark, id: id,
								token: tokenOf(who), letter: marksOf[who]}
							w[who] = &writer{steps: p.steps(one), abort: one.rollback}
						}
						return w
					}
					explore(t, effortFor(p.right), build,
						func() string { return d.text(t, readRow, id) }).expect(t, p.right)
				})
			}
		})
	}
}

// twoOfPostgres returns two sessions, of which the server reports whether they wait for each other.
func twoOfPostgres(t *testing.T) (d database, clients [writers]client) {
	d = openPostgres(t)
	for who := range clients {
		s := d.session(t)
		clients[who] = client{
			begin: func() (*sql.Tx, error) { return s.BeginTx(t.Context(), nil) },
			try:   waiting(func(done <-chan error) bool { return s.awaitBlocked(t, done) }),
		}
	}
	return d, clients
}

// waiting returns a try for statements that wait: it runs them in a goroutine, and blocked reports
// whether they wait or are done.
func waiting(blocked func(done <-chan error) bool) func(do func() error) error {
	var done chan error // of a statement that has not finished
	return func(do func() error) error {
		if done == nil {
			done = make(chan error, 1)
			go func() { done <- do() }()
		}
		if blocked(done) {
			return errBlocked
		}
		err := <-done
		done = nil
		return err
	}
}

// twoOfSQLite returns two connections that do not wait, but report that they would have to.
func twoOfSQLite(t *testing.T) (d database, clients [writers]client) {
	d = openSQLite(t, "")
	for who := range clients {
		c, err := d.Conn(t.Context())
		noErr(t, err)
		t.Cleanup(func() { c.Close() })
		clients[who] = client{
			begin: func() (*sql.Tx, error) { return c.BeginTx(t.Context(), nil) },
			try: func(do func() error) error {
				err := do()
				// SQLITE_BUSY_SNAPSHOT means that waiting would be useless.
				if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code() == sqlite3.SQLITE_BUSY {
					return errBlocked
				}
				return err
			},
		}
	}
	return d, clients
}
