package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// Tables of the version that recognised a restored dump only by the numbers of tables may be restored ones. After they
// are updated nothing is granted for as long as the longest lease. What is held stays held, and users keep their
// rights.
func TestTablesThatMayBeRestoredAreClosed(t *testing.T) {
	t.Parallel()
	const longest, before = 6 * time.Second, 8 // a busy machine takes seconds between two requests
	pool, schema := dial(t, shared(t)), schemaName()
	role := schema + "_user"
	for _, query := range []string{
		postgres.SQLOf(schema, before),
		"CREATE ROLE " + role + " LOGIN; GRANT USAGE ON SCHEMA " + schema + " TO " + role +
			"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema + " TO " + role +
			"; GRANT SELECT, UPDATE, USAGE ON ALL SEQUENCES IN SCHEMA " + schema + " TO " + role,
	} {
		if _, err := pool.Exec(t.Context(), query, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_, _ = pool.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role) // the server ends soon
	})
	user := open(t, poolWith(t, func(c *pgxpool.Config) { c.ConnConfig.User = role }), schema,
		postgres.WithMaxTTL(longest))
	held := lockFor("held", longest)
	leaveFreeRow(t, user)
	mustTake(t, user, held)
	if x, err := user.Examine(t.Context()); err != nil || len(x.Findings) == 0 ||
		x.Findings[0].Code != "tables-version" {
		t.Errorf("tables of an earlier version: %+v, %v", x.Findings, err)
	}
	began := time.Now()
	if err := postgres.Migrate(t.Context(), pool, schema); err != nil {
		t.Fatal(err)
	}
	mustBeClosed(t, "brought up to date", user)
	if err := renewal(t.Context(), user, held); err != nil {
		t.Errorf("Renew: %v", err)
	}
	if _, err := user.Take(t.Context(), lockFor("held", longest)); err == nil || driver.IsPermanent(err) {
		t.Errorf("Take of what is held: %v", err)
	}
	takeEventually(t, user, lockFor("free", time.Second))
	if took := time.Since(began); took < longest {
		t.Errorf("a lock was granted after %v", took)
	}
}
