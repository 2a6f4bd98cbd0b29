package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
)

// Somebody who may create functions in public, as everybody could up to PostgreSQL 14, cannot have them called by
// programs that lock, even if their types fit better than those of the server's own functions.
func TestFunctionsOfANeighbourAreNotCalled(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	neighbour := schema + "_neighbour"
	for _, statement := range []string{
		"CREATE SCHEMA " + neighbour,
		"CREATE FUNCTION " + neighbour +
			".to_timestamp(integer) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION " +
			"'to_timestamp'; END $$",
		"CREATE FUNCTION " + neighbour +
			".times(numeric, integer) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION " +
			"'times'; END $$",
		"CREATE OPERATOR " + neighbour + ".* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = " + neighbour +
			".times)",
		"CREATE FUNCTION " + neighbour +
			".hashtextextended(text, integer) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION " +
			"'hash'; END $$",
		"CREATE FUNCTION " + neighbour +
			".concat(smallint, text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'concat'; " +
			"END $$",
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	e := open(t, poolWith(t, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["search_path"] = neighbour + ", public"
	}), schema)

	holder := lock("a")
	mustTake(t, e, holder)
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
	mustRelease(t, e, holder)
	if _, err := e.TrySet(t.Context(), driver.LatchSet{Name: "a", ID: "1", Count: 1, TTL: time.Minute}); err != nil {
		t.Error(err)
	}
	if _, err := e.CountDown(t.Context(), driver.LatchDown{Name: "a", ID: "2", TTL: time.Minute}); err != nil {
		t.Error(err)
	}

	// Functions with a search path that others can write to are inlined where safe functions call them; nothing else
	// calls them.
	rows, err := pool.Query(t.Context(), fmt.Sprintf(`SELECT p.proname, l.lanname = 'sql'
		FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
		WHERE p.pronamespace = '%s'::regnamespace
			AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)`, schema))
	if err != nil {
		t.Fatal(err)
	}
	type function struct {
		Name string
		SQL  bool
	}
	functions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[function])
	if err != nil || len(functions) == 0 {
		t.Fatalf("there are %d, %v", len(functions), err)
	}
	sent := ownSource(t)
	for _, f := range functions {
		if !f.SQL {
			t.Errorf("%s has a search path that others can write to", f.Name)
		}
		if called := regexp.MustCompile(`leasehold\.` + f.Name + `\b`); called.MatchString(sent) {
			t.Errorf("a statement of the engine calls %s, whose search path others can write to", f.Name)
		}
	}
}

// ownSource returns the source of the package, with all statements that it sends.
func ownSource(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	if !strings.Contains(all.String(), "leasehold.take") {
		t.Fatal("no statement was found")
	}
	return all.String()
}
