package fencing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold/fence"
)

// kinds returns both kinds of marks, for the row 1.
func kinds(d database, t *testing.T) map[string]fence.Mark {
	d.exec(t, "INSERT INTO account (id) VALUES (1)")
	return map[string]fence.Mark{"table": marks.Mark("account 1"), "column": account.Mark(1)}
}

// A mark goes up, and never down. An equal token passes.
func TestMarksGoUp(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		for kind, m := range kinds(d, t) {
			for _, s := range []struct {
				token, have uint64 // refused by have
			}{{5, 0}, {5, 0}, {4, 5}, {1, 5}, {6, 0}, {5, 6}, {fence.MaxToken - 1, 0}, {fence.MaxToken, 0},
				{fence.MaxToken - 1, fence.MaxToken}} {
				err := raise(t.Context(), d, m, s.token)
				if s.have == 0 {
					if err != nil {
						t.Errorf("%s: raising to %d: %v", kind, s.token, err)
					}
					continue
				}
				stale(t, err, s.have, s.token)
			}
		}
	})
}

// A write under a token that is refused later stays; a write after the refusal does not.
func TestRefusedWorkLeavesNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		for kind, m := range kinds(d, t) {
			write := func(token uint64, fail error) error {
				return fence.Do(t.Context(), d, m, token, func(tx *fence.Guard) error {
					_, err := tx.ExecContext(t.Context(), "UPDATE account SET value = value || $1 WHERE id = 1",
						fmt.Sprint(kind, token, " "))
					return errors.Join(err, fail)
				})
			}
			noErr(t, write(2, nil))
			stale(t, write(1, nil), 2, 1)
			mine := errors.New("mine")
			if err := write(7, mine); !errors.Is(err, mine) {
				t.Errorf("the error of the function: %v", err)
			}
			noErr(t, write(3, nil)) // the mark has not been raised to 7
			func() {
				defer func() { recover() }()
				fence.Do(t.Context(), d, m, 8, func(*fence.Guard) error { panic("mine") })
			}()
			noErr(t, write(4, nil))
			if got, want := d.text(t, "SELECT value FROM account WHERE id = 1"), fmt.Sprintf("%[1]s2 %[1]s3 %[1]s4 ",
				kind); !strings.HasSuffix(got, want) {
				t.Errorf("%s: %q, want %q", kind, got, want)
			}
			d.exec(t, "UPDATE account SET value = '' WHERE id = 1")
		}
	})
}

// Every method of the guard works.
func TestGuard(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		ctx := t.Context()
		d.exec(t, "INSERT INTO account (id) VALUES (1), (2)")
		noErr(t, fence.Do(ctx, d, account.Mark(1), 3, func(tx *fence.Guard) error {
			if tx.Token() != 3 {
				t.Errorf("Token: %d", tx.Token())
			}
			if err := tx.Raise(ctx, account.Mark(2), 9); err != nil {
				return err
			}
			set, err := tx.PrepareContext(ctx, "UPDATE account SET value = $1 WHERE id = $2")
			if err != nil {
				return err
			}
			defer set.Close()
			for id := range 2 {
				if _, err := set.ExecContext(ctx, "new", id+1); err != nil {
					return err
				}
			}
			rows, err := tx.QueryContext(ctx, "SELECT value, fence FROM account ORDER BY id")
			if err != nil {
				return err
			}
			defer rows.Close()
			got := ""
			for rows.Next() {
				var value, token string
				if err := rows.Scan(&value, &token); err != nil {
					return err
				}
				got += value + token + " "
			}
			if got != "new3 new9 " {
				t.Errorf("the transaction has %q", got)
			}
			return rows.Err()
		}))
		// If a second mark refuses, everything is undone.
		err := fence.Do(ctx, d, account.Mark(1), 4,
			func(tx *fence.Guard) error { return tx.Raise(ctx, account.Mark(2), 8) })
		stale(t, err, 9, 8)
		if got := d.text(t, "SELECT fence FROM account WHERE id = 1"); got != "3" {
			t.Errorf("the first mark is %s, want 3", got)
		}
	})
}

// A guard cannot be used after its transaction.
func TestGuardAfterItsTransaction(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		var kept *fence.Guard
		noErr(t, fence.Do(t.Context(), d, marks.Mark("a"), 1, func(tx *fence.Guard) error {
			kept = tx
			return nil
		}))
		if _, err := kept.ExecContext(t.Context(), "DELETE FROM account"); !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("writing after the transaction: %v, want sql.ErrTxDone", err)
		}
	})
}

// A missing mark is created once, by the first raiser, and all others see it.
func TestFirstRaisers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		const raisers, names = 8, 20
		var accepted [names][raisers + 1]bool
		var work sync.WaitGroup
		for token := uint64(1); token <= raisers; token++ {
			work.Go(func() {
				for i := range names {
					err := raise(t.Context(), d, marks.Mark(fmt.Sprint("name ", i)), token)
					if err != nil && !errors.Is(err, fence.ErrStale) {
						t.Errorf("raising to %d: %v", token, err)
					}
					accepted[i][token] = err == nil
				}
			})
		}
		work.Wait()
		for i := range names {
			if got := d.text(t, "SELECT token FROM marks WHERE name = $1",
				fmt.Sprint("name ", i)); got != fmt.Sprint(raisers) || !accepted[i][raisers] {
				t.Errorf("name %d: the mark is %s, and the largest token was accepted: %v", i, got,
					accepted[i][raisers])
			}
		}
		if got := d.text(t, "SELECT count(*) FROM marks"); got != fmt.Sprint(names) {
			t.Errorf("%s marks for %d names", got, names)
		}
	})
}

// While the first raiser of a name has not committed, the second waits, whichever token is larger.
func TestFirstRaisersWait(t *testing.T) {
	t.Parallel()
	d := openPostgres(t)
	for _, s := range []struct{ first, second, refused uint64 }{{1, 2, 0}, {2, 1, 2}, {1, 1, 0}} {
		m := marks.Mark(fmt.Sprint("name ", s))
		a, b := d.session(t), d.session(t)
		txA, txB := a.begin(t), b.begin(t)
		_, err := fence.Raise(t.Context(), txA, m, s.first)
		noErr(t, err)
		done := make(chan error, 1)
		go func() {
			_, err := fence.Raise(t.Context(), txB, m, s.second)
			done <- err
		}()
		if !b.awaitBlocked(t, done) {
			t.Errorf("%v: the second does not wait", s)
		}
		noErr(t, txA.Commit())
		err = <-done
		if s.refused == 0 {
			noErr(t, err)
		} else {
			stale(t, err, s.refused, s.second)
		}
		noErr(t, txB.Rollback())
	}
}

// If the first raiser rolls back, it has no effect.
func TestFirstRaiserThatRollsBack(t *testing.T) {
	t.Parallel()
	d := openPostgres(t)
	a, b := d.session(t), d.session(t)
	txA, txB := a.begin(t), b.begin(t)
	_, err := fence.Raise(t.Context(), txA, marks.Mark("a"), 2)
	noErr(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := fence.Raise(t.Context(), txB, marks.Mark("a"), 1)
		done <- err
	}()
	if !b.awaitBlocked(t, done) {
		t.Error("the second does not wait")
	}
	noErr(t, txA.Rollback())
	noErr(t, <-done)
	noErr(t, txB.Commit())
}

func TestRowsThatAreNotAsTheyShouldBe(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		if err := raise(t.Context(), d, account.Mark(404), 1); !errors.Is(err, fence.ErrNoRow) {
			t.Errorf("a row that is not there: %v, want ErrNoRow", err)
		}
		d.exec(t, "CREATE TABLE twice (id bigint, fence bigint)")
		d.exec(t, "INSERT INTO twice VALUES (1, 0), (1, 0)")
		if err := raise(t.Context(), d, fence.Column{Table: "twice", Key: "id", Token: "fence"}.Mark(1),
			1); !errors.Is(err, fence.ErrNotUnique) {
			t.Errorf("a key that is there twice: %v, want ErrNotUnique", err)
		}
		if got := d.text(t, "SELECT max(fence) FROM twice"); got != "0" {
			t.Errorf("the marks are %s", got)
		}
		// SQLite may take an unknown name for a string, and would then write to every row.
		d.exec(t, "INSERT INTO account (id) VALUES (1)")
		err := raise(t.Context(), d, fence.Column{Table: "account", Key: "nothing", Token: "fence"}.Mark("nothing"), 1)
		if err == nil || errors.Is(err, fence.ErrNoRow) {
			t.Errorf("a column that is not there: %v", err)
		}
	})
}

// The statements of Schema run, the first one even twice, and limit the values of a mark.
func TestSchema(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		schema, err := marks.Schema()
		noErr(t, err)
		d.exec(t, schema)
		schema, err = fence.Column{Table: "account", Key: "id", Token: "added"}.Schema()
		noErr(t, err)
		d.exec(t, "INSERT INTO account (id) VALUES (1)")
		d.exec(t, schema)
		noErr(t, raise(t.Context(), d, fence.Column{Table: "account", Key: "id", Token: "added"}.Mark(1), 7))
		for _, wrong := range []string{
			"UPDATE account SET added = -1", "UPDATE account SET added = 9007199254740992",
			"UPDATE account SET added = NULL",
			"INSERT INTO marks (name, token) VALUES ('a', 0)", "INSERT INTO marks (name, token) VALUES ('a', NULL)",
		} {
			if _, err := d.Exec(wrong); err == nil {
				t.Errorf("%s: it is done", wrong)
			}
		}
	})
}

// Names of any kind are kept apart, even those that look like SQL.
func TestNames(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		for i, name := range []string{"a", "A", "ä", "a ", "'; DROP TABLE marks; --", `"`, "$1", "?", "\\",
			strings.Repeat("n", fence.MaxName)} {
			token := uint64(100 - i)
			noErr(t, raise(t.Context(), d, marks.Mark(name), token))
			stale(t, raise(t.Context(), d, marks.Mark(name), token-1), token, token-1)
		}
	})
}

// A table may be in a schema, and may have a keyword as its name.
func TestNamesOfTables(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		table := fence.Table{Name: d.schema + ".order"}
		text, err := table.Schema()
		noErr(t, err)
		d.exec(t, text)
		noErr(t, raise(t.Context(), d, table.Mark("a"), 2))
		stale(t, raise(t.Context(), d, table.Mark("a"), 1), 2, 1)
		d.exec(t, `CREATE TABLE "group" ("select" text PRIMARY KEY, "from" bigint)`)
		d.exec(t, `INSERT INTO "group" VALUES ('k', NULL)`)
		column := fence.Column{Table: d.schema + ".group", Key: "select", Token: "from"}
		noErr(t, raise(t.Context(), d, column.Mark("k"), 2))
		stale(t, raise(t.Context(), d, column.Mark("k"), 1), 2, 1)
	})
}

// If the lease ends before the commit, nothing is committed, and that is certain.
func TestDoOfALeaseThatHasEnded(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		ctx, end := context.WithCancelCause(t.Context())
		lost := errors.New("lost")
		err := fence.Do(ctx, d, marks.Mark("a"), 5, func(*fence.Guard) error {
			end(lost)
			return nil
		})
		if !errors.Is(err, lost) || errors.Is(err, fence.ErrUnknown) {
			t.Errorf("Do: %v, want the cause of the context", err)
		}
		noErr(t, raise(t.Context(), d, marks.Mark("a"), 1))
	})
}

// The marks of a gate can be stored in a table.
func TestDBMarks(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		m := fence.DBMarks{DB: d.DB, Table: marks}
		noErr(t, m.Raise(t.Context(), "a", 2))
		noErr(t, m.Raise(t.Context(), "a", 2))
		stale(t, m.Raise(t.Context(), "a", 1), 2, 1)
		noErr(t, m.Raise(t.Context(), "b", 1))
	})
}
