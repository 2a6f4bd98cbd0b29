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

// The listening connection is made like those of the pool, whose password may change.
func TestListeningCallsBeforeConnect(t *testing.T) {
	t.Parallel()
	_, schema := newTables(t)
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
	mustTake(t, e, r)
	done := startWait(t, e, mustJoin(t, e, lock("name")))
	mustRelease(t, e, r)
	if err := <-done; err != nil {
		t.Errorf("Wait: %v", err)
	}
}

// A request to join that had no effect leaves nothing behind in memory, because nobody releases it.
func TestATakeWithoutEffectIsForgotten(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	pool.Close()
	r := lock("name")
	r.Join = true
	if _, err := e.Take(t.Context(), r); !driver.HadNoEffect(err) || errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take from a pool that is closed: %v", err)
	}
	if e.Wanted(r.Key) {
		t.Error("an owner that has given up is still listed as a waiter")
	}
}

// Anybody who may connect to the database can send messages, but cannot forge a grant without knowing the ticket.
func TestForgedMessage(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	a, b := open(t, pool, schema), open(t, pool, schema)
	r, w := lock("name"), lock("name")
	first := mustTake(t, a, r)
	granted := startWaiting(t, b, w)
	for ticket := range 10 {
		_, err := pool.Exec(t.Context(), fmt.Sprintf(`SELECT pg_notify('leasehold_' || listener,
			concat_ws(' ', 'g', %d, 7, 1, 5000000, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0))
			FROM %s.waiters`, ticket, schema))
		if err != nil {
			t.Fatal(err)
		}
	}
	mustRelease(t, a, r)
	if g := awaitGrant(t, granted, patience); g.Token <= first.Token {
		t.Errorf("token %d follows %d", g.Token, first.Token)
	}
}

// Nobody can forge one by listening, either: what is sent before a grant does not contain the ticket.
func TestOverheardMessage(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	a, b := open(t, pool, schema), open(t, pool, schema)
	readers := []driver.Request{lock("name"), lock("name")}
	var last driver.Grant
	for i := range readers {
		readers[i].Mode = driver.Shared
		last = mustTake(t, a, readers[i])
	}
	granted := startWaiting(t, b, lock("name"))
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
	mustRelease(t, a, readers[0]) // the waiter is told when the next lease ends
	message, err := eavesdropper.WaitForNotification(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(message.Payload) {
		_, err := eavesdropper.Exec(t.Context(), `SELECT pg_notify('leasehold_' || $1::bigint,
			concat_ws(' ', 'g', $2::text, 7, 1, 5000000, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
				0))`,
			listener, word)
		if err != nil {
			t.Fatal(err)
		}
	}
	mustRelease(t, a, readers[1])
	if g := awaitGrant(t, granted, patience); g.Token <= last.Token {
		t.Errorf("token %d follows %d: %q was enough to forge a grant", g.Token, last.Token, message.Payload)
	}
}

// A hint that is sent before the grant finds its waiter: the tables and the engine compute the same number for it.
func TestHintsFindTheirWaiter(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	for _, ticket := range []int64{0, 7, 1<<63 - 1} {
		var hint string
		if err := pool.QueryRow(t.Context(), "SELECT "+schema+".hint($1)", ticket).Scan(&hint); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%016x", postgres.HintNumber(ticket)); hint != want {
			t.Errorf("the hint of %d is %s, want %s", ticket, hint, want)
		}
	}
}

// The listening connection is made again even if somebody has locked the row of a waiter.
func TestReconnectWaitsForNobody(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	a, b := open(t, pool, schema), namedEngine(t, schema, "b")
	for _, name := range []string{"locked", "name"} {
		mustTake(t, a, lock(name))
		startWaiting(t, b, lock(name))
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	var former int64
	if err := tx.QueryRow(t.Context(),
		"SELECT listener FROM "+schema+".waiters WHERE name = 'locked' FOR UPDATE").Scan(&former); err != nil {
		t.Fatal(err)
	}
	if n := endSessions(t, schema, "b",
		fmt.Sprintf("pid IN (SELECT pid FROM pg_locks WHERE classid::bigint << 32 | objid::bigint = %d)",
			former)); n != 1 {
		t.Fatalf("%d connections listened, want 1", n)
	}
	eventually(t, "the other row was moved", func() bool {
		var now int64
		err := pool.QueryRow(t.Context(), "SELECT listener FROM "+schema+".waiters WHERE name = 'name'").Scan(&now)
		return err == nil && now != former
	})
}
