package postgres_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// count is the number of rows of a table.
func count(t *testing.T, pool *pgxpool.Pool, table string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func execute(t *testing.T, pool *pgxpool.Pool, query string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// Rows of free names are removed after a while, and expired leases become free, even among many others that are still
// needed.
func TestSweep(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	mustTake(t, e, lockFor("held", time.Hour)) // on a busy machine this test takes longer than a minute
	for i := range 300 {                       // a row that is free, and needed
		first, second := lockFor(fmt.Sprint("shared-", i), time.Hour), lockFor(fmt.Sprint("shared-", i), time.Hour)
		first.Mode, second.Mode = driver.Shared, driver.Shared
		mustTake(t, e, first)
		mustTake(t, e, second)
		mustRelease(t, e, first)
	}
	for i := range 300 {
		r := lock(fmt.Sprint("free-", i))
		mustTake(t, e, r)
		mustRelease(t, e, r)
		r = lock(fmt.Sprint("over-", i))
		r.TTL = time.Millisecond
		mustTake(t, e, r)
	}
	fresh := lock("fresh")
	execute(t, pool, "UPDATE "+schema+".holders SET granted = granted - interval '1 minute'")
	for range 3 {
		execute(t, pool, "SELECT "+schema+".sweep()")
	}
	mustTake(t, e, fresh)
	mustRelease(t, e, fresh)
	execute(t, pool, "SELECT "+schema+".sweep()")
	if n, want := count(t, pool, schema+".holders"), 1+600+1; n != want {
		t.Errorf("%d rows are left, want %d: what is held, and what has just been free", n, want)
	}
	mustTake(t, e, lock("free-1"))
	mustTake(t, e, lock("over-1"))
}

// Each way to be granted a lock cleans up now and then.
func TestGrantsSweep(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(t *testing.T, e *postgres.Engine){
		"Take": func(t *testing.T, e *postgres.Engine) {
			r := lock("a")
			mustTake(t, e, r)
			mustRelease(t, e, r)
		},
		"Take of what is shared": func(t *testing.T, e *postgres.Engine) {
			r, s := lock("a"), lock("a")
			r.Mode, s.Mode = driver.Shared, driver.Shared
			mustTake(t, e, r)
			mustTake(t, e, s)
			mustRelease(t, e, s)
			mustRelease(t, e, r)
		},
		"at once": func(t *testing.T, e *postgres.Engine) {
			var all []driver.Request
			var held []driver.Hold
			for i := range 64 {
				all = append(all, lock(fmt.Sprint(i)))
				held = append(held, hold(all[i]))
			}
			e.AtOnce(t.Context(), all, nil)
			e.AtOnce(t.Context(), nil, held)
		},
		"TakeAll": func(t *testing.T, e *postgres.Engine) {
			var all []driver.Request
			for i := range 16 {
				all = append(all, lock(fmt.Sprint(i)))
			}
			if _, err := e.TakeAll(t.Context(), all); err != nil {
				t.Errorf("TakeAll: %v", err)
			}
			for _, r := range all {
				mustRelease(t, e, r)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, schema := newTables(t)
			execute(t, pool, "CREATE TABLE "+schema+".swept (at timestamptz)")
			execute(t, pool, "CREATE OR REPLACE FUNCTION "+schema+".sweep() RETURNS void "+
				"LANGUAGE sql AS 'INSERT INTO "+schema+".swept VALUES (now())'")
			execute(t, pool, "CREATE OR REPLACE FUNCTION "+schema+".sweeps(grants integer) RETURNS boolean "+
				"LANGUAGE sql AS 'SELECT random() < grants / 20.0'")
			e := open(t, pool, schema)
			mustTake(t, e, lock("first")) // notes how long leases are, so others do not have to
			for range 300 {               // once in twenty grants, here
				use(t, e)
			}
			if count(t, pool, schema+".swept") == 0 {
				t.Error("no grant has cleaned up")
			}
		})
	}
}

// If taking several names is refused, those that are free can still be taken without the lock of their keys.
func TestARefusedTakeAllLeavesNamesOpen(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	for _, name := range []string{"b", "c"} {
		r := lock(name)
		mustTake(t, e, r)
		mustRelease(t, e, r)
	}
	mustTake(t, e, lock("a"))
	if _, err := e.TakeAll(t.Context(), []driver.Request{lock("a"), lock("b"), lock("c")}); !driver.IsNo(err) {
		t.Fatalf("TakeAll: %v", err)
	}
	if tokens, _, left := e.AtOnce(t.Context(), []driver.Request{lock("b"), lock("c"), lock("d")}, nil); left != 0 {
		t.Errorf("taken at once: %v", tokens)
	}
}

// Statements that were planned while the table was empty use the index when it has grown.
func TestPlansFindRowsByTheIndex(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	mustTake(t, e, lock("first"))
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	exec := func(query string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec("SET search_path = " + schema)
	defer exec("RESET search_path")
	calls := []string{
		"SELECT at_once('{}', '{}', '{x,y,z}', '{a,b,c}', '{1min,1min,1min}', '{1,1,1}', '{h,h,h}', '1min')",
		"SELECT at_once('{x,y,z}', '{a,b,c}', '{}', '{}', '{}', '{}', '{}', '1min')",
		"SELECT take(1::smallint, 'x', 'a', 0::smallint, 1, 1, '1min', 1, false, NULL, 0, '', '1min', true)",
		"SELECT renew('{1}', '{x}', '{a}', '{0}', '{1min}')",
		"SELECT take_shut(1::smallint, 'x', 'b', 0::smallint, 1, 1, '1min', 1, false, NULL, 0, '', '1min', true)",
		"SELECT release(1::smallint, 'x', 'a', NULL)",
	}
	for range 10 {
		for _, call := range calls {
			exec(call)
		}
	}
	const grown = 20_000
	exec(fmt.Sprintf(`INSERT INTO holders
		SELECT 1, 'name-' || n, 0, n, 1, 'owner', 0, 1, now() + interval '1 hour', now(), here('origin'), '1min', ''
		FROM generate_series(1, %d) AS n`, grown))
	for _, call := range calls {
		exec("BEGIN")
		exec(call)
		var read int64
		err := conn.QueryRow(t.Context(),
			"SELECT pg_stat_get_xact_tuples_returned('holders'::regclass) + "+
				"pg_stat_get_xact_tuples_returned('holders_pkey'::regclass)").Scan(&read)
		if err != nil {
			t.Fatal(err)
		}
		exec("COMMIT")
		if read > grown/10 {
			t.Errorf("%s reads %d rows and entries of the index", call, read)
		}
	}
}

// Names that are used once by many at the same time do not pile up.
func TestNamesThatAreUsedOnceDoNotPileUp(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	execute(t, pool, "CREATE OR REPLACE FUNCTION "+schema+".sweeps(grants integer) RETURNS boolean LANGUAGE sql AS "+
		"'SELECT random() < grants / 50.0'")
	e := open(t, pool, schema)
	var used atomic.Int64
	var running sync.WaitGroup
	until := time.Now().Add(4 * time.Second) // twice as long as the row of a free name stays
	for range 16 {
		running.Go(func() {
			for time.Now().Before(until) {
				r := lock(fmt.Sprint(used.Add(1)))
				mustTake(t, e, r)
				mustRelease(t, e, r)
			}
		})
	}
	running.Wait()
	if n := count(t, pool, schema+".holders"); int64(n) > used.Load()*9/10 {
		t.Errorf("%d names were used once, and %d rows are left", used.Load(), n)
	}
}
