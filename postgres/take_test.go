package postgres_test

import (
	"context"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

// A take that waits for a row, and has drawn its token before, gets a larger one than whoever changed the row meanwhile.
func TestTokensGrowOverAWait(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	e := open(t, pool, schema)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := lock("a")
	takes(t, e, r)
	releases(t, e, r)
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	exec := func(query string) {
		t.Helper()
		if _, err := tx.Exec(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE " + schema + ".holders SET token = nextval('" + schema + ".tokens')")
	type outcome struct {
		grant driver.Grant
		err   error
	}
	got := make(chan outcome, 1)
	go func() {
		g, err := e.Take(ctx, lock("a"))
		got <- outcome{g, err}
	}()
	eventually(t, "the take to wait for the row", func() bool {
		var n int
		err := pool.QueryRow(ctx, `SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
			WHERE NOT granted AND locktype = 'transactionid' AND query LIKE '%' || $1 || '".take%'`, schema).Scan(&n)
		return err == nil && n > 0
	})
	exec("UPDATE " + schema + ".holders SET token = nextval('" + schema + ".tokens')")
	var former int64
	if err := tx.QueryRow(ctx, "SELECT token FROM "+schema+".holders").Scan(&former); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if o := <-got; o.err != nil || o.grant.Token <= uint64(former) {
		t.Errorf("token %d, %v follows %d", o.grant.Token, o.err, former)
	}
}
