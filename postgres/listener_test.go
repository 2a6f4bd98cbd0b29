package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
)

// The connection that listens is made as those of the pool are, whose password may change.
func TestListeningHeedsBeforeConnect(t *testing.T) {
	t.Parallel()
	_, schema := place(t)
	c, err := pgxpool.ParseConfig(shared(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	user := c.ConnConfig.User
	c.ConnConfig.User = "nobody"
	c.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.User = user
		return nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	e := open(t, pool, schema)
	r := lock("name")
	takes(t, e, r)
	done := awaits(t, e, joins(t, e, lock("name")))
	releases(t, e, r)
	if err := <-done; err != nil {
		t.Errorf("Wait: %v", err)
	}
}

// A request for a place that was never there leaves nothing behind, also in memory: nobody releases it.
func TestATakeWithoutEffectIsForgotten(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	e := open(t, pool, schema)
	pool.Close()
	r := lock("name")
	r.Join = true
	if _, err := e.Take(t.Context(), r); !driver.HadNoEffect(err) || errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take from a pool that is closed: %v", err)
	}
	if e.Wanted(r.Key) {
		t.Error("somebody seems to wait who has given up")
	}
}

// Anybody who may connect to the database can send messages, but cannot make a grant up without knowing the ticket.
func TestAMessageThatWasMadeUp(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	a, b := open(t, pool, schema), open(t, pool, schema)
	r, w := lock("name"), lock("name")
	first := takes(t, a, r)
	granted := waits(t, b, w)
	for ticket := range 10 {
		_, err := pool.Exec(t.Context(), fmt.Sprintf(`SELECT pg_notify('leasehold_' || listener,
			concat_ws(' ', 'g', %d, 7, 1, 5000000, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0)) FROM %s.waiters`, ticket, schema))
		if err != nil {
			t.Fatal(err)
		}
	}
	releases(t, a, r)
	if g := within(t, granted, patience); g.Token <= first.Token {
		t.Errorf("token %d follows %d", g.Token, first.Token)
	}
}

// The connection that listens is made anew although somebody has locked the place of one who waits.
func TestListeningAnewWaitsForNobody(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	a, b := open(t, pool, schema), named(t, schema, "b")
	for _, name := range []string{"locked", "name"} {
		takes(t, a, lock(name))
		waits(t, b, lock(name))
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	var former int64
	if err := tx.QueryRow(t.Context(), "SELECT listener FROM "+schema+".waiters WHERE name = 'locked' FOR UPDATE").Scan(&former); err != nil {
		t.Fatal(err)
	}
	if n := ends(t, schema, "b", fmt.Sprintf("pid IN (SELECT pid FROM pg_locks WHERE classid::bigint << 32 | objid::bigint = %d)", former)); n != 1 {
		t.Fatalf("%d connections listened, want 1", n)
	}
	eventually(t, "the other place was moved", func() bool {
		var now int64
		err := pool.QueryRow(t.Context(), "SELECT listener FROM "+schema+".waiters WHERE name = 'name'").Scan(&now)
		return err == nil && now != former
	})
}
