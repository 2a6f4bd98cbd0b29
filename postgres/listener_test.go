package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
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

// Nor by whoever listens: what he hears before a grant is nothing that he can make one of.
func TestAMessageThatWasOverheard(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	a, b := open(t, pool, schema), open(t, pool, schema)
	readers := []driver.Request{lock("name"), lock("name")}
	var last driver.Grant
	for i := range readers {
		readers[i].Mode = driver.Shared
		last = takes(t, a, readers[i])
	}
	granted := waits(t, b, lock("name"))
	eavesdropper, err := pgx.Connect(t.Context(), shared(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	defer eavesdropper.Close(context.Background())
	var listener int64
	if err := pool.QueryRow(t.Context(), "SELECT listener FROM "+schema+".waiters").Scan(&listener); err != nil {
		t.Fatal(err)
	}
	if _, err := eavesdropper.Exec(t.Context(), fmt.Sprintf("LISTEN leasehold_%d", listener)); err != nil {
		t.Fatal(err)
	}
	releases(t, a, readers[0]) // the one who waits hears when the next lease ends
	heard, err := eavesdropper.WaitForNotification(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(heard.Payload) {
		_, err := eavesdropper.Exec(t.Context(), `SELECT pg_notify('leasehold_' || $1::bigint,
			concat_ws(' ', 'g', $2::text, 7, 1, 5000000, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0))`, listener, word)
		if err != nil {
			t.Fatal(err)
		}
	}
	releases(t, a, readers[1])
	if g := within(t, granted, patience); g.Token <= last.Token {
		t.Errorf("token %d follows %d: %q was enough to make a grant up", g.Token, last.Token, heard.Payload)
	}
}

// What a waiter is told before the grant finds it: the tables and the engine have the same number for it.
func TestHintsFindTheirWaiter(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	for _, ticket := range []int64{0, 7, 1<<63 - 1} {
		var hint string
		if err := pool.QueryRow(t.Context(), "SELECT "+schema+".hint($1)", ticket).Scan(&hint); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%016x", postgres.HintOf(ticket)); hint != want {
			t.Errorf("the hint of %d is %s, want %s", ticket, hint, want)
		}
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
