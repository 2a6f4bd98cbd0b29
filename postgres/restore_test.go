package postgres_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// poolOf makes a pool on a database of a server.
func poolOf(t *testing.T, s *postgresserver.Server, database string) *pgxpool.Pool {
	t.Helper()
	c, err := pgxpool.ParseConfig(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	c.ConnConfig.Database = database
	pool, err := pgxpool.NewWithConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// queryText is postgresserver.Server.Ask, which must succeed.
func queryText(t *testing.T, s *postgresserver.Server, query string) string {
	t.Helper()
	text, err := s.Ask(query)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mustBeClosed expects that nothing is granted in a database, neither a name that a row says is free nor another one,
// alone or with others.
func mustBeClosed(t *testing.T, what string, e *postgres.Engine) {
	t.Helper()
	for _, name := range []string{"free", "new"} {
		_, err := e.Take(t.Context(), lockFor(name, time.Second))
		if _, closed := errors.AsType[*postgres.ClosedError](err); !closed || !driver.HadNoEffect(err) {
			t.Errorf("%s: Take of %q answers %v, want ClosedError", what, name, err)
		}
	}
	batch := []driver.Request{lockFor("free", time.Second), lockFor("new", time.Second), lockFor("newer", time.Second)}
	if tokens, _, _ := e.AtOnce(t.Context(), batch, nil); len(tokens) != 3 || tokens[0]+tokens[1]+tokens[2] != 0 {
		t.Errorf("%s: taken at once: %v", what, tokens)
	}
}

// leaveFreeRow takes and releases a name, so that its row says that it is free.
func leaveFreeRow(t *testing.T, e *postgres.Engine) {
	t.Helper()
	r := lockFor("free", time.Second)
	takeEventually(t, e, r)
	mustRelease(t, e, r)
}

// A dump of a database that was itself restored from a dump, restored in the same way once more, on a server like the
// one before: its tables have the same numbers, and so has the database. Nothing is granted before the leases have
// ended that were granted after the dump, and tokens go on growing.
func TestDumpOfARestoredDatabase(t *testing.T) {
	t.Parallel()
	const longest = 2 * time.Second
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	origin := shared(t)
	database := schemaName()
	queryText(t, origin, "CREATE DATABASE "+database)
	pool := poolOf(t, origin, database)
	if err := postgres.Migrate(t.Context(), pool, postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	leaveFreeRow(t, open(t, pool, postgres.DefaultSchema, postgres.WithMaxTTL(longest)))
	restore := func(file string) (*postgresserver.Server, *postgres.Engine) {
		s := postgresserver.ForTest(t, postgresserver.Config{TCP: true})
		if err := s.Restore("postgres", file); err != nil {
			t.Fatal(err)
		}
		e := engineAt(t, s.URL(), postgres.WithMaxTTL(longest))
		mustBeClosed(t, filepath.Base(file), e)
		return s, e
	}
	if err := origin.Dump(database, first); err != nil {
		t.Fatal(err)
	}
	two, x := restore(first)
	leaveFreeRow(t, x)
	numbers := "SELECT 'leasehold.holders'::regclass::oid, 'leasehold.alive'::regclass::oid, oid FROM pg_database " +
		"WHERE datname = 'postgres'"
	before := queryText(t, two, numbers)
	if err := two.Dump("postgres", second); err != nil {
		t.Fatal(err)
	}
	held := lockFor("free", longest)
	g := mustTake(t, x, held)
	ends := time.Now().Add(longest) // at the earliest
	if err := two.Kill(); err != nil {
		t.Fatal(err)
	}
	three, y := restore(second)
	if after := queryText(t, three, numbers); after != before {
		t.Fatalf("the tables and the database have the numbers %s, and had %s: this test is about equal ones", after,
			before)
	}
	next, _ := takeEventually(t, y, lockFor("free", time.Second))
	if early := time.Until(ends); early > 0 {
		t.Errorf("the lock was granted again %v before the lease that was lost has ended", early)
	}
	if next.Token <= g.Token {
		t.Errorf("token %d follows %d", next.Token, g.Token)
	}
}

// Databases that were restored from a dump or copied are noticed on the same server, too: they all have the identity of
// the server, and a copy has the same numbers of tables. The original database goes on.
func TestCopiesOfADatabaseAreNoticed(t *testing.T) {
	t.Parallel()
	s := shared(t)
	source := schemaName()
	queryText(t, s, "CREATE DATABASE "+source)
	pool := poolOf(t, s, source)
	if err := postgres.Migrate(t.Context(), pool, postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	leaveFreeRow(t, open(t, pool, postgres.DefaultSchema))
	pool.Close() // only a database that nobody uses can be copied
	latest := source
	for _, way := range []struct {
		what string
		make func(from, to string) error
	}{
		{"a copy made by the server", func(from, to string) error {
			_, err := s.Ask("CREATE DATABASE " + to + " TEMPLATE " + from)
			return err
		}},
		{"a dump", func(from, to string) error { return restoreDump(t, s, from, to) }},
		{"a dump of that", func(from, to string) error { return restoreDump(t, s, from, to) }},
	} {
		next := schemaName()
		if err := way.make(latest, next); err != nil {
			t.Fatal(err)
		}
		mustBeClosed(t, way.what, open(t, poolOf(t, s, next), postgres.DefaultSchema))
		latest = next
	}
	mustTake(t, open(t, poolOf(t, s, source), postgres.DefaultSchema), lock("free"))
}

// restoreDump makes a database from a dump of another one of the same server.
func restoreDump(t *testing.T, s *postgresserver.Server, from, to string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), to)
	queryText(t, s, "CREATE DATABASE "+to)
	return errors.Join(s.Dump(from, file), s.Restore(to, file))
}

// Tables and rows may be restored separately. Until both exist nothing is granted, and the error says why. Rows that
// are put back into their own tables are noticed when the view is filled again, as the documentation says, even by
// engines that are connected all the time.
func TestRestoreInParts(t *testing.T) {
	t.Parallel()
	s := shared(t)
	source, target := schemaName(), schemaName()
	queryText(t, s, "CREATE DATABASE "+source)
	queryText(t, s, "CREATE DATABASE "+target)
	pool := poolOf(t, s, source)
	if err := postgres.Migrate(t.Context(), pool, postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	before := open(t, pool, postgres.DefaultSchema)
	leaveFreeRow(t, before)
	file := filepath.Join(t.TempDir(), "dump")
	if err := errors.Join(s.Dump(source, file), s.Restore(target, file, "--schema-only")); err != nil {
		t.Fatal(err)
	}
	e := open(t, poolOf(t, s, target), postgres.DefaultSchema)
	if _, err := e.Take(t.Context(), lock("free")); err == nil || !driver.HadNoEffect(err) || driver.IsPermanent(err) ||
		!strings.Contains(err.Error(), "restore all of it") {
		t.Errorf("Take in tables without rows: %v, want an error that says what is missing", err)
	}
	if err := s.Restore(target, file, "--data-only"); err != nil {
		t.Fatal(err)
	}
	mustBeClosed(t, "in parts", e)
	const empty = "TRUNCATE leasehold.meta, leasehold.alive, leasehold.holders, leasehold.waiters, " +
		"leasehold.latches, leasehold.latch_downs, leasehold.removals"
	if _, err := pool.Exec(t.Context(), empty); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(source, file, "--data-only"); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "REFRESH MATERIALIZED VIEW leasehold.origin"); err != nil {
		t.Fatal(err)
	}
	mustBeClosed(t, "rows put back", before)
}
