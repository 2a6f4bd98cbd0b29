package postgres_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// A guard that has read the row before, and locks it after the lease has ended, is refused: the next holder uses the
// row again, and changes nothing in it that a lock against removal would notice.
func TestGuardOfARowThatWasTakenAgain(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	first := lock("first") // notes how long leases are, so others do not have to
	mustTake(t, open(t, pool, schema), first)
	for passing, pass := range map[string]func(g guardTest, r driver.Request, l lease){
		"released": func(g guardTest, r driver.Request, l lease) { g.release(g.a, r, l) },
		"released at once": func(g guardTest, r driver.Request, l lease) {
			_, released, _ := g.a.AtOnce(g.ctx, nil, []driver.Hold{held(r, l), hold(lock("x")), hold(lock("y"))})
			if !released[0] {
				g.Error("it was not released")
			}
		},
		"taken away": func(g guardTest, r driver.Request, l lease) {
			if err := g.b.ForceRelease(g.ctx, r.Key, l.token); err != nil {
				g.Error(err)
			}
		},
		"expired": func(g guardTest, r driver.Request, l lease) {
			if _, err := g.pool.Exec(g.ctx,
				"UPDATE "+g.schema+".holders SET expires = clock_timestamp() WHERE name = $1", r.Name); err != nil {
				g.Error(err)
			}
			reader := lockRequest("reader", time.Minute)
			reader.Name, reader.Mode = r.Name, driver.Shared
			g.release(g.b, reader, g.take(g.b, reader))
		},
	} {
		for _, next := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, and taken: %v", passing, next), func(t *testing.T) {
				t.Parallel()
				g := guardTestIn(t, schema)
				r, other := lockRequest("a", time.Minute), lockRequest("b", time.Minute)
				r.Name, other.Name = t.Name(), t.Name()
				l := g.take(g.a, r)
				// What it sees is decided now, and what it locks is decided later.
				cursor := g.begin("")
				query := strings.NewReplacer("$1", "'"+r.Name+"'", "$2",
					strconv.FormatUint(l.token, 10)).Replace(postgres.GuardQuery(schema))
				if _, err := cursor.Exec(g.ctx, "DECLARE c CURSOR FOR "+query); err != nil {
					t.Fatal(err)
				}
				var repeatable []pgx.Tx
				for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
					tx := g.begin(level)
					if _, err := tx.Exec(g.ctx, "SELECT 1"); err != nil {
						t.Fatal(err)
					}
					repeatable = append(repeatable, tx)
				}
				pass(g, r, l)
				if next {
					g.take(g.b, other)
				}
				if tag, err := cursor.Exec(g.ctx, "FETCH c"); err == nil && tag.RowsAffected() > 0 {
					t.Error("a transaction was guarded by a lease that is over")
				}
				for _, tx := range repeatable {
					if err := g.a.Guard(g.ctx, tx, l); err == nil {
						t.Error("a transaction that sees what was before was guarded by a lease that is over")
					}
				}
			})
		}
	}
}
