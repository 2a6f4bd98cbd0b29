package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest/spoiled"
)

// Statements with which somebody else writes into the file. The numbers are ?1 to ?5, the texts ?6 and ?7, the name ?8; what the tables refuse is no case.
var spoiling = []string{
	"INSERT INTO holders (kind, name, token, tokens, owner, mode, weight, ttl, expires, granted, holder) VALUES (1 + abs(?5 % 2), ?8, ?1, ?2, ?6, ?3, ?4, ?5, ?5, ?4, ?7)",
	"INSERT INTO holders (kind, name, token, tokens, owner, mode, weight, ttl, expires, granted, holder) VALUES (1 + abs(?3 % 2), ?8, ?1, ?2, ?6, ?3, ?4, ?5, 9000000000000000000, ?5, ?7)",
	"INSERT INTO holders (kind, name, token, tokens, owner, mode, weight, ttl, expires, granted, holder) VALUES (2, ?8, ?1, 1, ?6, 0, ?4, ?5, 9000000000000000000, ?5, ?7)",
	"UPDATE holders SET token = ?1, tokens = ?2, mode = ?3, weight = ?4, ttl = ?5 WHERE name = ?8",
	"UPDATE holders SET expires = ?1, granted = ?2 WHERE name = ?8",
	"INSERT INTO waiters (kind, name, owner, mode, weight, size, alive_until, joined, holder) VALUES (1 + abs(?5 % 2), ?8, ?6, ?1, ?2, ?3, ?4, ?5, ?7)",
	"INSERT INTO waiters (kind, name, owner, mode, weight, size, alive_until, joined, holder) VALUES (1 + abs(?5 % 2), ?8, ?6, ?1, ?2, ?3, 9000000000000000000, ?5, ?7)",
	"INSERT INTO waiters (seq, kind, name, owner, mode, weight, size, alive_until, joined, holder) VALUES (?1, 1, ?8, ?6, 0, ?2, ?3, ?4, ?5, ?7)",
	"INSERT INTO latches (name, generation, count, set_id, ttl, expires) VALUES (?8, ?1, ?2, ?6, ?3, 9000000000000000000)",
	"INSERT INTO latches (name, generation, count, set_id, ttl, expires) VALUES (?8, ?1, ?2, ?6, ?3, ?4)",
	"UPDATE latches SET generation = ?1, count = ?2, ttl = ?3, expires = ?4 WHERE name = ?8",
	"UPDATE meta SET last = ?1, mark = ?2",
	"UPDATE meta SET boot = ?6",
	"INSERT INTO removals (id, at, kind, name, token, holder, who, why, outcome) VALUES (?6, ?1, ?2, ?8, ?3, ?7, ?7, ?7, ?4)",
	"DELETE FROM meta",
}

// Whatever somebody writes into the file, nobody crashes, hangs, or believes that he holds; and all other names are told of.
func FuzzWhatNeighboursWrite(f *testing.F) {
	add := spoiled.Seeds(f)
	path := newPath(f)
	a, b := openFile(f, path), openFile(f, path)
	numbers := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, driver.MaxToken, driver.MaxToken + 1, 255, 256, 1 << 40}
	for form := range uint8(len(spoiling)) {
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
		do(t, a, "DELETE FROM holders", "DELETE FROM waiters", "DELETE FROM latches", "DELETE FROM removals", "DELETE FROM latch_downs",
			"INSERT OR REPLACE INTO meta (id, boot, last, mark) VALUES (1, '"+a.clock.boot+"', 1000, 1000000)")
		spoiled.Run(t, spoiled.Trial{
			A: a, B: b, Name: name, Good: "good", State: spoiled.StateOf(state), Prefix: fmt.Sprintf("%d.", round),
			Spoil: func(string) {
				_ = a.change(context.Background(), a.fast, func(v *view) error {
					_, err := v.exec(spoiling[int(form)%len(spoiling)], n1, n2, n3, n4, n5, x, y, name)
					return err
				})
			},
		})
	})
}

func do(t testing.TB, e *Engine, statements ...string) {
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

// Somebody has emptied the table that counts tokens. Whoever locks, opens the file or examines it is told so, and what to do.
func TestATableOfTokensThatIsEmpty(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e := openFile(t, path)
	do(t, e, "DELETE FROM meta")
	_, took := e.Take(t.Context(), driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "a"}, Owner: "owner", Size: 1, Weight: 1, TTL: time.Minute, Tokens: 1})
	other, opened := Open(path)
	if opened == nil {
		_ = other.Close()
	}
	for what, err := range map[string]error{"Take": took, "Open": opened} {
		if err == nil || !strings.Contains(err.Error(), errMeta.Error()) {
			t.Errorf("%s: %v", what, err)
		}
	}
	found, err := e.Examine(t.Context())
	if err != nil || !slices.ContainsFunc(found.Findings, func(f driver.Finding) bool { return f.Code == "tokens-damaged" && f.Severity == driver.Critical }) {
		t.Errorf("Examine: %+v, %v", found.Findings, err)
	}
}
