package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
)

// Who may create functions in public, as everybody could up to PostgreSQL 14, gets none of them called by those who lock, though their types fit better than
// those of the server's own.
func TestFunctionsOfANeighbourAreNotCalled(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	neighbour := schema + "_neighbour"
	for _, statement := range []string{
		"CREATE SCHEMA " + neighbour,
		"CREATE FUNCTION " + neighbour + ".to_timestamp(integer) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'to_timestamp'; END $$",
		"CREATE FUNCTION " + neighbour + ".times(numeric, integer) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'times'; END $$",
		"CREATE OPERATOR " + neighbour + ".* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = " + neighbour + ".times)",
		"CREATE FUNCTION " + neighbour + ".hashtextextended(text, integer) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'hash'; END $$",
		"CREATE FUNCTION " + neighbour + ".concat(smallint, text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'concat'; END $$",
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	e := open(t, as(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = neighbour + ", public" }), schema)

	holder := lock("a")
	takes(t, e, holder)
	waiter := lock("a")
	waiter.Join = true
	if _, err := e.Take(t.Context(), waiter); err == nil || !driver.IsNo(err) {
		t.Fatalf("a second take: %v, want that it is held", err)
	}
	if st, err := e.List(t.Context(), driver.Query{}); err != nil || len(st) != 1 {
		t.Errorf("listed %+v, %v", st, err)
	}
	if _, err := e.Examine(t.Context()); err != nil {
		t.Error(err)
	}
	releases(t, e, holder)
	if _, err := e.TrySet(t.Context(), driver.LatchSet{Name: "a", ID: "1", Count: 1, TTL: time.Minute}); err != nil {
		t.Error(err)
	}
	if _, err := e.CountDown(t.Context(), driver.LatchDown{Name: "a", ID: "2", TTL: time.Minute}); err != nil {
		t.Error(err)
	}

	rows, err := pool.Query(t.Context(), fmt.Sprintf(`SELECT p.oid::regprocedure::text FROM pg_proc p
		WHERE p.pronamespace = '%s'::regnamespace AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)`, schema))
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) > 0 {
		t.Errorf("these look where others may create functions: %q, %v", names, err)
	}
}
