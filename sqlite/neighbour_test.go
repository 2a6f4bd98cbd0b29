package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest/hostile"
)

// Statements with which a neighbour writes into the file. The numbers are ?1 to ?5, the texts ?6 and ?7, the name ?8. A
// statement that the tables refuse does not count.
var hostileStatements = []string{
	"INSERT INTO holders (kind, name, token, tokens, owner, mode, weight, ttl, expires, granted, holder) " +
		"VALUES (1 + abs(?5 % 2), ?8, ?1, ?2, ?6, ?3, ?4, ?5, ?5, ?4, ?7)",
	"INSERT INTO holders (kind, name, token, tokens, owner, mode, weight, ttl, expires, granted, holder) " +
		"VALUES (1 + abs(?3 % 2), ?8, ?1, ?2, ?6, ?3, ?4, ?5, 9000000000000000000, ?5, ?7)",
	"INSERT INTO holders (kind, name, token, tokens, owner, mode, weight, ttl, expires, granted, holder) " +
		"VALUES (2, ?8, ?1, 1, ?6, 0, ?4, ?5, 9000000000000000000, ?5, ?7)",
	"UPDATE holders SET token = ?1, tokens = ?2, mode = ?3, weight = ?4, ttl = ?5 WHERE name = ?8",
	"UPDATE holders SET expires = ?1, granted = ?2 WHERE name = ?8",
	"INSERT INTO waiters (kind, name, owner, mode, weight, size, alive_until, joined, holder) " +
		"VALUES (1 + abs(?5 % 2), ?8, ?6, ?1, ?2, ?3, ?4, ?5, ?7)",
	"INSERT INTO waiters (kind, name, owner, mode, weight, size, alive_until, joined, holder) " +
		"VALUES (1 + abs(?5 % 2), ?8, ?6, ?1, ?2, ?3, 9000000000000000000, ?5, ?7)",
	"INSERT INTO waiters (seq, kind, name, owner, mode, weight, size, alive_until, joined, holder) " +
		"VALUES (?1, 1, ?8, ?6, 0, ?2, ?3, ?4, ?5, ?7)",
	"INSERT INTO latches (name, generation, count, set_id, ttl, expires) " +
		"VALUES (?8, ?1, ?2, ?6, ?3, 9000000000000000000)",
	"INSERT INTO latches (name, generation, count, set_id, ttl, expires) VALUES (?8, ?1, ?2, ?6, ?3, ?4)",
	"UPDATE latches SET generation = ?1, count = ?2, ttl = ?3, expires = ?4 WHERE name = ?8",
	"UPDATE meta SET last = ?1, mark = ?2",
	"UPDATE meta SET boot = ?6",
	"INSERT INTO removals (id, at, kind, name, token, holder, who, why, outcome) " +
		"VALUES (?6, ?1, ?2, ?8, ?3, ?7, ?7, ?7, ?4)",
	"DELETE FROM meta",
}

// Whatever a neighbour writes into the file, no engine crashes, hangs, or believes that it holds, and all other names
// are listed.
func FuzzWhatNeighboursWrite(f *testing.F) {
	add := hostile.Seeds(f)
	path := newPath(f)
	a, b := openFile(f, path), openFile(f, path)
	numbers := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, driver.MaxToken, driver.MaxToken + 1, 255, 256, 1 << 40}
	for form := range uint8(len(hostileStatements)) {
		for i, n := range numbers {
			m := numbers[(i+3)%len(numbers)]
			add(uint8(i), form, n, n, n, n, n, "owner", "text")
			add(uint8(i+1), form, n, m, int64(0), m, n, "", "\xff\x00")
			add(uint8(i+2), form, int64(1), int64(1), n, m, int64(1), "x", "")
		}
	}
	round := 0
	f.Fuzz(func(t *testing.T, state, form uint8, n1, n2, n3, n4, n5 int64, x, y string) {
		round++
		name := fmt.Sprint("bad ", round)
		execute(t, a, "DELETE FROM holders", "DELETE FROM waiters", "DELETE FROM latches", "DELETE FROM removals",
			"DELETE FROM latch_downs",
			"INSERT OR REPLACE INTO meta (id, boot, last, mark) VALUES (1, '"+a.clock.boot+"', 1000, 1000000)")
		hostile.Run(t, hostile.Trial{
			A: a, B: b, Name: name, Good: "good", State: hostile.StateOf(state), Prefix: fmt.Sprintf("%d.", round),
			Overwrite: func(string) {
				_ = a.change(context.Background(), a.fast, func(v *view) error {
					statement := hostileStatements[int(form)%len(hostileStatements)]
					_, err := v.exec(statement, n1, n2, n3, n4, n5, x, y, name)
					return err
				})
			},
		})
	})
}

func execute(t testing.TB, e *Engine, statements ...string) {
	t.Helper()
	err := e.change(context.Background(), e.fast, func(v *view) error {
		for _, s := range statements {
			if _, err := v.exec(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A neighbour has emptied the table that counts tokens. Everybody who locks, opens the file or examines it is told so,
// and what to do.
func TestEmptyTableOfTokens(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e := openFile(t, path)
	execute(t, e, "DELETE FROM meta")
	_, took := e.Take(t.Context(), lock("a"))
	other, opened := Open(path)
	if opened == nil {
		_ = other.Close()
	}
	for what, err := range map[string]error{"Take": took, "Open": opened} {
		if !driver.IsPermanent(err) || !errors.Is(err, errMeta) {
			t.Errorf("%s: %v (permanent: %v)", what, err, driver.IsPermanent(err))
		}
	}
	wantFound(t, e, "critical tokens-damaged")
	// The table may also be emptied while the mark of the tokens is about to be raised.
	if err := e.transactLocked(t.Context(), e.durable, raiseTokenMark); !driver.IsPermanent(err) ||
		!errors.Is(err, errMeta) {
		t.Errorf("raising the mark: %v (permanent: %v)", err, driver.IsPermanent(err))
	}
	// The same for a user without the right to write.
	e.readOnly = true
	if _, err := e.List(t.Context(), driver.Query{}); !driver.IsPermanent(err) || !errors.Is(err, errMeta) {
		t.Errorf("List: %v (permanent: %v)", err, driver.IsPermanent(err))
	}
	wantFound(t, e, "critical tokens-damaged")
}
