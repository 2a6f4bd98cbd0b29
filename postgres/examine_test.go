package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// examines examines, and expects these findings and no others, but for those that all servers of tests have.
func examines(t *testing.T, e *postgres.Engine, want ...string) (driver.Place, []driver.Finding) {
	t.Helper()
	x, err := e.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Places) != 1 {
		t.Fatalf("the places are %+v", x.Places)
	}
	var found []string
	var told []driver.Finding
	for _, f := range x.Findings {
		if f.Place != x.Places[0].Name || f.Text == "" || f.Mend == "" {
			t.Errorf("it says %+v", f)
		}
		if f.Code != "fsync-off" && f.Code != "autovacuum-off" {
			found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
			told = append(told, f)
		}
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q: %+v", found, want, told)
	}
	return x.Places[0], told
}

func TestExamineFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	s := postgresserver.ForTest(t, postgresserver.Config{TCP: true, OnDisk: true, Settings: []string{"autovacuum=on"}})
	pool := poolAt(t, s.URL())
	e := open(t, pool, postgres.DefaultSchema)
	examines(t, e, "critical tables-missing")
	if err := postgres.Migrate(t.Context(), pool, postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	x, err := e.Examine(t.Context())
	if err != nil || len(x.Findings) > 0 {
		t.Errorf("found %+v, %v", x.Findings, err)
	}
	p, _ := examines(t, e)
	if !strings.HasSuffix(p.Name, "/postgres") || p.Role != "primary" || !strings.HasPrefix(p.Version, "1") || strings.Contains(p.Version, " ") || !p.Votes ||
		p.Uptime <= 0 || p.Uptime > time.Hour || p.RoundTrip <= 0 || !p.HasClock || p.Ahead.Abs() > time.Second || p.Closed != 0 || p.Err != nil {
		t.Errorf("the place is %+v", p)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if x, err := e.Examine(t.Context()); !driver.IsPermanent(err) {
		t.Errorf("an engine that is closed: %+v, %v", x, err)
	}
}

func TestExamineTellsOfAServerForTests(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	x, err := open(t, pool, schema).Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range x.Findings {
		found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
	}
	if want := []string{"warning fsync-off", "warning autovacuum-off"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	examines(t, open(t, pool, schema, postgres.WithoutCrashGuard()), "warning guard-off")
}

// as is a pool with other parameters of the session.
func as(t *testing.T, change func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	c, err := pgxpool.ParseConfig(shared(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	change(c)
	pool, err := pgxpool.NewWithConfig(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func TestExamineFindsWhatSessionsAreLike(t *testing.T) {
	t.Parallel()
	_, schema := place(t)
	set := func(name, value string) *postgres.Engine {
		return open(t, as(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams[name] = value }), schema)
	}
	examines(t, set("default_transaction_read_only", "on"), "critical read-only")
	examines(t, set("default_transaction_isolation", "repeatable read"), "critical isolation-level")
}

func TestExamineFindsMissingRights(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	role := schema + "_user"
	exec := func(query string) {
		t.Helper()
		for _, q := range strings.Split(query, ";") {
			if _, err := pool.Exec(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	}
	exec("CREATE ROLE " + role + " LOGIN")
	t.Cleanup(func() {
		_, _ = pool.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role) // the server ends soon
	})
	e := open(t, as(t, func(c *pgxpool.Config) { c.ConnConfig.User = role }), schema)
	_, told := examines(t, e, "critical rights", "note rights-spare")
	for _, right := range []string{"USAGE ON SCHEMA " + schema, "SELECT, INSERT, UPDATE, DELETE ON " + schema + ".holders", "SELECT, UPDATE ON SEQUENCE " + schema + ".tokens"} {
		if len(told) > 0 && (!strings.Contains(told[0].Text, right) || !strings.Contains(told[0].Mend, right)) {
			t.Errorf("%q is missing in %+v", right, told[0])
		}
	}
	in := " ON " + schema + "."
	exec("GRANT USAGE ON SCHEMA " + schema + " TO " + role)
	for _, table := range []string{"holders", "waiters", "alive"} {
		exec("GRANT SELECT, INSERT, UPDATE, DELETE" + in + table + " TO " + role)
	}
	exec("GRANT SELECT, UPDATE" + in + "meta TO " + role + "; GRANT ALL ON SEQUENCE " + schema + ".tokens TO " + role)
	examines(t, e, "critical rights", "note rights-spare") // to sweep, which each lock does now and then
	exec("GRANT SELECT, DELETE" + in + "latches TO " + role + "; GRANT SELECT, DELETE" + in + "latch_downs TO " + role)
	examines(t, e, "note rights-spare")
	r := lock("a")
	takes(t, e, r) // which is what it says
	r.Name = "b"
	if _, err := e.Take(t.Context(), r); err != nil {
		t.Error(err)
	}
	for _, table := range []string{"latches", "latch_downs", "removals"} {
		exec("GRANT SELECT, INSERT, UPDATE, DELETE" + in + table + " TO " + role)
	}
	examines(t, e)
	if _, err := e.TrySet(t.Context(), driver.LatchSet{Name: "a", ID: "1", Count: 1, TTL: time.Minute}); err != nil {
		t.Error(err)
	}
	exec("REVOKE UPDATE" + in + "holders FROM " + role)
	examines(t, e, "critical rights")
	exec("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA " + schema + " FROM PUBLIC")
	examines(t, e, "critical rights")
}

func TestExamineOfTables(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	e := open(t, pool, schema, postgres.WithMaxTTL(5*time.Second))
	exec := func(query string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	r := lock("a")
	r.TTL = time.Minute
	takes(t, open(t, pool, schema), r)
	examines(t, e, "note long-closing")
	exec("DELETE FROM " + schema + ".alive") // which a crash does
	if p, _ := examines(t, e, "note long-closing"); p.Closed != time.Minute {
		t.Errorf("before anybody has noticed a crash it is closed for %v, want the longest lease", p.Closed)
	}
	if p, _ := examines(t, open(t, pool, schema, postgres.WithoutCrashGuard()), "warning guard-off"); p.Closed != 0 {
		t.Errorf("without the guard it is closed for %v", p.Closed)
	}
	if _, err := e.Take(t.Context(), lock("b")); err == nil {
		t.Error("a lock was granted right after a crash")
	}
	if p, _ := examines(t, e, "note long-closing"); p.Closed <= 0 || p.Closed > time.Minute {
		t.Errorf("after a crash it is closed for %v", p.Closed)
	}
	exec("UPDATE " + schema + ".meta SET version = version + 1")
	examines(t, e, "critical tables-version", "note long-closing")
}

// examineStandby expects that what is wrong with a standby is found.
func examineStandby(t *testing.T, standby *postgresserver.Server) {
	t.Helper()
	e := open(t, poolAt(t, standby.URL()), postgres.DefaultSchema)
	x, err := e.Examine(t.Context())
	if err != nil || len(x.Places) != 1 || x.Places[0].Role != "standby" || x.Places[0].Votes {
		t.Fatalf("the standby is %+v, %v", x, err)
	}
	if f := x.Findings[0]; f.Code != "replica-as-node" || f.Severity != driver.Critical {
		t.Errorf("found %+v", x.Findings)
	}
	if _, err := e.Take(t.Context(), lock("a")); err == nil || driver.IsPermanent(err) || !driver.HadNoEffect(err) || !strings.Contains(err.Error(), "standby") {
		t.Errorf("Take on a standby: %v", err)
	}
}

// A transaction that guards a lease and does nothing is found, and no other.
func TestExamineFindsIdleGuards(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	l := g.take(g.a, ask("a", time.Minute))
	guards, other := g.begin(""), g.begin("")
	g.guards(guards, l)
	if _, err := other.Exec(t.Context(), "SELECT count(*) FROM "+g.schema+".holders"); err != nil {
		t.Fatal(err)
	}
	conn, err := g.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	found := func(long time.Duration) []uint32 {
		t.Helper()
		pids, err := postgres.IdleGuards(t.Context(), conn.Conn(), g.schema, long)
		if err != nil {
			t.Fatal(err)
		}
		return pids
	}
	if got, want := found(0), []uint32{guards.Conn().PgConn().PID()}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if got := found(time.Minute); len(got) > 0 {
		t.Errorf("found %v, which have guarded for a moment", got)
	}
	if err := guards.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if got := found(0); len(got) > 0 {
		t.Errorf("found %v after the end", got)
	}
}
