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

// mustExamine expects these findings and no others, except those that all servers of tests have.
func mustExamine(t *testing.T, e *postgres.Engine, want ...string) (driver.Server, []driver.Finding) {
	t.Helper()
	x, err := e.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Servers) != 1 {
		t.Fatalf("the servers are %+v", x.Servers)
	}
	var found []string
	var others []driver.Finding
	for _, f := range x.Findings {
		if f.Server != x.Servers[0].Name || f.Text == "" || f.Fix == "" {
			t.Errorf("it says %+v", f)
		}
		if f.Code != "fsync-off" && f.Code != "autovacuum-off" {
			found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
			others = append(others, f)
		}
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q: %+v", found, want, others)
	}
	return x.Servers[0], others
}

func TestExamineFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	s := postgresserver.ForTest(t, postgresserver.Config{TCP: true, OnDisk: true, Settings: []string{"autovacuum=on"}})
	pool := poolAt(t, s.URL())
	e := open(t, pool, postgres.DefaultSchema)
	mustExamine(t, e, "critical tables-missing")
	if err := postgres.Migrate(t.Context(), pool, postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	x, err := e.Examine(t.Context())
	if err != nil || len(x.Findings) > 0 {
		t.Errorf("found %+v, %v", x.Findings, err)
	}
	p, _ := mustExamine(t, e)
	if !strings.HasSuffix(p.Name, "/postgres") || p.Role != "primary" || !strings.HasPrefix(p.Version, "1") ||
		strings.Contains(p.Version, " ") || !p.Votes ||
		p.Uptime <= 0 || p.Uptime > time.Hour || p.RoundTrip <= 0 || !p.HasClock || p.Ahead.Abs() > time.Second ||
		p.Closed != 0 || p.Err != nil {
		t.Errorf("the server is %+v", p)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if x, err := e.Examine(t.Context()); !driver.IsPermanent(err) {
		t.Errorf("a closed engine: %+v, %v", x, err)
	}
}

func TestExamineReportsATestServer(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
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
	mustExamine(t, open(t, pool, schema, postgres.WithoutCrashGuard()), "warning guard-off")
}

// poolWith is a pool with other parameters of the session.
func poolWith(t *testing.T, change func(*pgxpool.Config)) *pgxpool.Pool {
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

func TestExamineFindsSessionSettings(t *testing.T) {
	t.Parallel()
	_, schema := newTables(t)
	set := func(name, value string) *postgres.Engine {
		return open(t, poolWith(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams[name] = value }), schema)
	}
	mustExamine(t, set("default_transaction_read_only", "on"), "critical read-only")
	mustExamine(t, set("default_transaction_isolation", "repeatable read"), "critical isolation-level")
}

func TestExamineFindsMissingRights(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
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
	e := open(t, poolWith(t, func(c *pgxpool.Config) { c.ConnConfig.User = role }), schema)
	_, findings := mustExamine(t, e, "critical rights", "note rights-spare")
	for _, right := range []string{
		"USAGE ON SCHEMA " + schema, "SELECT, INSERT, UPDATE, DELETE ON " + schema + ".holders",
		"SELECT, UPDATE ON SEQUENCE " + schema + ".tokens",
	} {
		if len(findings) > 0 &&
			(!strings.Contains(findings[0].Text, right) || !strings.Contains(findings[0].Fix, right)) {
			t.Errorf("%q is missing in %+v", right, findings[0])
		}
	}
	in := " ON " + schema + "."
	exec("GRANT USAGE ON SCHEMA " + schema + " TO " + role)
	for _, table := range []string{"holders", "waiters", "alive"} {
		exec("GRANT SELECT, INSERT, UPDATE, DELETE" + in + table + " TO " + role)
	}
	exec("GRANT SELECT, UPDATE" + in + "meta TO " + role + "; GRANT ALL ON SEQUENCE " + schema + ".tokens TO " + role)
	mustExamine(t, e, "critical rights", "note rights-spare") // needed to clean up, which each lock does now and then
	exec("GRANT SELECT, DELETE" + in + "latches TO " + role + "; GRANT SELECT, DELETE" + in + "latch_downs TO " + role)
	mustExamine(t, e, "note rights-spare")
	r := lock("a")
	mustTake(t, e, r) // as the finding says
	r.Name = "b"
	if _, err := e.Take(t.Context(), r); err != nil {
		t.Error(err)
	}
	for _, table := range []string{"latches", "latch_downs", "removals"} {
		exec("GRANT SELECT, INSERT, UPDATE, DELETE" + in + table + " TO " + role)
	}
	mustExamine(t, e)
	if _, err := e.TrySet(t.Context(), driver.LatchSet{Name: "a", ID: "1", Count: 1, TTL: time.Minute}); err != nil {
		t.Error(err)
	}
	exec("REVOKE UPDATE" + in + "holders FROM " + role)
	mustExamine(t, e, "critical rights")
	exec("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA " + schema + " FROM PUBLIC")
	mustExamine(t, e, "critical rights")
}

func TestExamineOfTables(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema, postgres.WithMaxTTL(5*time.Second))
	exec := func(query string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	r := lock("a")
	r.TTL = time.Minute
	mustTake(t, open(t, pool, schema), r)
	mustExamine(t, e, "note long-closing")
	exec("DELETE FROM " + schema + ".alive") // as a crash does
	if p, _ := mustExamine(t, e, "note long-closing"); p.Closed != time.Minute {
		t.Errorf("before anybody has noticed a crash it is closed for %v, want the longest lease", p.Closed)
	}
	if p, _ := mustExamine(t, open(t, pool, schema, postgres.WithoutCrashGuard()), "warning guard-off"); p.Closed != 0 {
		t.Errorf("without the guard it is closed for %v", p.Closed)
	}
	if _, err := e.Take(t.Context(), lock("b")); err == nil {
		t.Error("a lock was granted right after a crash")
	}
	if p, _ := mustExamine(t, e, "note long-closing"); p.Closed <= 0 || p.Closed > time.Minute {
		t.Errorf("after a crash it is closed for %v", p.Closed)
	}
	exec("UPDATE " + schema + ".meta SET version = version + 1")
	mustExamine(t, e, "critical tables-version", "note long-closing")
}

// examineStandby expects that the problems of a standby are found.
func examineStandby(t *testing.T, standby *postgresserver.Server) {
	t.Helper()
	e := open(t, poolAt(t, standby.URL()), postgres.DefaultSchema)
	x, err := e.Examine(t.Context())
	if err != nil || len(x.Servers) != 1 || x.Servers[0].Role != "standby" || x.Servers[0].Votes {
		t.Fatalf("the standby is %+v, %v", x, err)
	}
	if f := x.Findings[0]; f.Code != "replica-as-node" || f.Severity != driver.Critical {
		t.Errorf("found %+v", x.Findings)
	}
	if _, err := e.Take(t.Context(), lock("a")); err == nil || driver.IsPermanent(err) || !driver.HadNoEffect(err) ||
		!strings.Contains(err.Error(), "standby") {
		t.Errorf("Take on a standby: %v", err)
	}
}

// An idle transaction that guards a lease is found, and no other transaction.
func TestExamineFindsIdleGuards(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	l := g.take(g.a, lockRequest("a", time.Minute))
	guards, other := g.begin(""), g.begin("")
	g.mustGuard(guards, l)
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
