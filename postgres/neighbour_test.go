package postgres_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest/hostile"
)

// Statements by which another program writes into the tables. #1 to #3 are numbers, @1 to @3 are times, ~1 and ~2 are
// intervals, $1 and $2 are texts, and $3 is the name. What the tables refuse is not a case.
var corruptions = []string{
	"INSERT INTO s.holders (kind, name, slot, token, tokens, owner, mode, weight, expires, granted, home, upto, " +
		"holder) VALUES (1, $3, #1, #1, #2, $1, #3, #2, @1, @2, 's.holders'::regclass, ~1, $2)",
	"INSERT INTO s.holders (kind, name, slot, token, tokens, owner, mode, weight, expires, granted, home, upto, " +
		"holder) VALUES (2, $3, #2, #1, #2, $1, #3, #2, @1, @2, 's.holders'::regclass, ~1, $2)",
	"INSERT INTO s.holders (kind, name, slot, token, tokens, owner, mode, weight, expires, granted, home, upto, " +
		"holder) VALUES (1, $3, 0, #1, #2, NULL, #3, #2, @1, @2, 7, ~1, $2)",
	"UPDATE s.holders SET token = #1, tokens = #2, mode = #3 WHERE name = $3 AND $1::text || $2::text IS NOT NULL",
	"UPDATE s.holders SET expires = @1, granted = @2, upto = ~1 WHERE name = $3 AND $1::text || $2::text IS NOT NULL",
	"UPDATE s.holders SET mode = #2, holder = $1 WHERE name = $3 AND $1::text || $2::text IS NOT NULL",
	"INSERT INTO s.waiters (kind, name, seq, owner, mode, weight, size, tokens, ttl, listener, ticket, alive_until, " +
		"joined, holder) VALUES (1, $3, #1, $1, #2, #3, #1, #2, ~1, NULL, #3, @1, @2, $2)",
	"INSERT INTO s.waiters (kind, name, seq, owner, mode, weight, size, tokens, ttl, listener, ticket, alive_until, " +
		"joined, holder) VALUES (2, $3, #1, $1, #2, #3, #1, #2, ~1, #3, #3, NULL, @2, $2)",
	"UPDATE s.waiters SET mode = #1, weight = #2, size = #3, tokens = #1, ttl = ~1, alive_until = @1, joined = @2 " +
		"WHERE name = $3 AND $1::text || $2::text IS NOT NULL",
	"INSERT INTO s.latches (name, generation, count, set_id, expires) VALUES ($3, #1, #2, $1, @1) ON CONFLICT (name) " +
		"DO UPDATE SET generation = excluded.generation, count = excluded.count, expires = excluded.expires WHERE " +
		"$2::text IS NOT NULL",
	"INSERT INTO s.removals (id, at, kind, name, token, holder, who, why, outcome) VALUES ($1, @1, #1, $3, #2, $2, " +
		"$2, $2, #3)",
}

// Values that columns may have.
var (
	numbers = []int64{0, 1, -1, 2, 255, 256, math.MaxInt16, math.MinInt16, math.MaxInt32, math.MinInt32, math.MaxInt64,
		math.MinInt64, driver.MaxToken, driver.MaxToken + 1}
	moments = []string{
		"clock_timestamp() + interval '1min'", "'infinity'", "'-infinity'", "'294000-01-01'", "'4713-01-02 BC'",
		"clock_timestamp() - interval '1min'", "clock_timestamp() + interval '200 years'",
		"clock_timestamp() + interval '400 years'", "clock_timestamp() - interval '400 years'", "'1970-01-01'", "NULL",
	}
	intervals = []string{"'0'", "'1s'", "'-1s'", "'1 month'", "'178000000 years'", "'-178000000 years'", "'300 years'",
		"NULL"}
)

// Whatever another program writes into the tables, nobody crashes, hangs, or believes that it holds, and all other
// names are still listed.
func FuzzWhatNeighboursWrite(f *testing.F) {
	add := hostile.Seeds(f)
	pool, schema := newTables(f)
	a, b := open(f, pool, schema), open(f, pool, schema)
	for form := range uint8(len(corruptions)) {
		for i := range uint8(14) {
			switch (i + form) % 3 {
			case 0:
				add(i, form, i, i, i, i, i, "owner", "text")
			case 1:
				add(i, form, uint8(1), i, uint8(0), uint8(0), i, "x", "\u202e")
			case 2:
				add(i, form, i, uint8(1), uint8(1), i, uint8(0), "", "")
			}
		}
	}
	// Leases of less than no time, in the first row of a name.
	add(uint8(hostile.Exclusive), uint8(4), uint8(2), uint8(1), uint8(1), uint8(2), uint8(2), "", "")
	round := 0
	f.Fuzz(func(t *testing.T, state, form, n1, n2, n3, m1, m2 uint8, x, y string) {
		round++
		name := fmt.Sprint("bad ", round)
		text := strings.NewReplacer("s.", schema+".", "#1", fmt.Sprintf("'%d'", numbers[int(n1)%len(numbers)]), "#2",
			fmt.Sprintf("'%d'", numbers[int(n2)%len(numbers)]), "#3",
			fmt.Sprintf("'%d'", numbers[int(n3)%len(numbers)]), "@1", moments[int(m1)%len(moments)], "@2",
			moments[int(m2)%len(moments)], "~1", intervals[int(m2)%len(intervals)]).
			Replace(corruptions[int(form)%len(corruptions)])
		t.Cleanup(func() { wipe(t, pool, schema, name) })
		hostile.Run(t, hostile.Trial{
			A: a, B: b, Name: name, Good: "good", State: hostile.StateOf(state), Prefix: fmt.Sprintf("%d.", round),
			Overwrite: func(string) { _, _ = pool.Exec(t.Context(), text, x, y, name) },
		})
	})
}

// wipe removes what was left of a name.
func wipe(t *testing.T, pool *pgxpool.Pool, schema, name string) {
	for _, statement := range []string{"holders WHERE name = $1", "waiters WHERE name = $1", "latches WHERE name = $1",
		"removals WHERE $1::text IS NOT NULL"} {
		if _, err := pool.Exec(context.Background(), "DELETE FROM "+schema+"."+statement, name); err != nil {
			t.Fatal(err)
		}
	}
}
