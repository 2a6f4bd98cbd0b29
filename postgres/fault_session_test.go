package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// namedEngine is an engine whose sessions have a name of their own, by which they can be found.
func namedEngine(t *testing.T, schema, name string, opts ...postgres.Option) *postgres.Engine {
	t.Helper()
	return open(t, poolAt(t, shared(t).URL()+"&application_name="+schema+name), schema, opts...)
}

// endSessions ends sessions by their name, and returns how many there were.
func endSessions(t *testing.T, schema, name, which string) int {
	t.Helper()
	n, err := shared(t).TerminateBackends("application_name = '" + schema + name + "' AND " + which)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// listens selects the sessions that listen: they hold an advisory lock.
const listens = "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)"

// startWaiting joins the queue and waits. The grant comes on the returned channel.
func startWaiting(t *testing.T, e *postgres.Engine, r driver.Request) <-chan driver.Grant {
	t.Helper()
	r.Join = true
	if _, err := e.Take(t.Context(), r); !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take of what is held: %v", err)
	}
	granted := make(chan driver.Grant, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	go func() {
		defer close(granted)
		for ctx.Err() == nil {
			g, err := e.Wait(ctx, r)
			if err == nil {
				granted <- g
				return
			}
			if driver.IsPermanent(err) {
				t.Errorf("Wait: %v", err)
				return
			}
			time.Sleep(10 * time.Millisecond) // as the core does after an error
		}
	}()
	return granted
}

// awaitGrant expects a grant in time.
func awaitGrant(t *testing.T, granted <-chan driver.Grant, limit time.Duration) driver.Grant {
	t.Helper()
	select {
	case g, ok := <-granted:
		if !ok {
			t.Fatal("there was no grant")
		}
		return g
	case <-time.After(limit):
		t.Fatalf("there was no grant in %v", limit)
	}
	return driver.Grant{}
}

// expectRenewal expects a certain answer to a renewal, whatever errors come before it.
func expectRenewal(t *testing.T, e *postgres.Engine, r driver.Request, want error) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := renewal(t.Context(), e, r)
		if err == nil || driver.IsNo(err) {
			if !errors.Is(err, want) {
				t.Fatalf("Renew: %v, want %v", err, want)
			}
			return
		}
		if driver.IsPermanent(err) || time.Since(began) > patience {
			t.Fatalf("Renew, after %v: %v", time.Since(began), err)
		}
	}
}

func renewal(ctx context.Context, e *postgres.Engine, r driver.Request) (outcome error) {
	outcome = errors.New("there was no answer")
	e.Renew(ctx, []driver.Renewal{{Hold: hold(r), TTL: r.TTL}}, func(_ int, err error) { outcome = err })
	return outcome
}

// Sessions that the server has ended are made again, and what is held stays held.
func TestEndedSessionsOfThePool(t *testing.T) {
	t.Parallel()
	_, schema := newTables(t)
	e := namedEngine(t, schema, "a")
	r := lock("a")
	mustTake(t, e, r)
	if endSessions(t, schema, "a", "true") == 0 {
		t.Fatal("there was no session to end")
	}
	expectRenewal(t, e, r, nil)
	endSessions(t, schema, "a", "true")
	for began := time.Now(); ; {
		err := e.Release(t.Context(), driver.Release{Hold: hold(r)})
		if err == nil {
			break
		}
		if driver.IsPermanent(err) || driver.IsNo(err) || time.Since(began) > patience {
			t.Fatalf("Release: %v", err)
		}
	}
	mustTake(t, e, lock("a"))
}

// A waiter gets the lock soon, even if it became free while the connection was down.
func TestEndedSessionThatListens(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	role := schema + "_user"
	exec := func(query string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE ROLE " + role + " LOGIN SUPERUSER")
	a := open(t, pool, schema)
	b := open(t, poolAt(t, strings.Replace(shared(t).URL(), "postgres@", role+"@", 1)+"&application_name="+schema+"b"),
		schema)
	r, w := lock("a"), lock("a")
	first := mustTake(t, a, r)
	granted := startWaiting(t, b, w)
	exec("ALTER ROLE " + role + " NOLOGIN")
	if n := endSessions(t, schema, "b", listens); n != 1 {
		t.Fatalf("%d sessions listened, want 1", n)
	}
	for endSessions(t, schema, "b", listens) > 0 { // it takes a moment
		time.Sleep(time.Millisecond)
	}
	mustRelease(t, a, r)
	exec("ALTER ROLE " + role + " LOGIN")
	if g := awaitGrant(t, granted, patience/3); g.Token <= first.Token {
		t.Errorf("token %d follows %d", g.Token, first.Token)
	}
	// The engine listens again.
	mustRelease(t, b, w)
	r, w = lock("b"), lock("b")
	mustTake(t, a, r)
	granted = startWaiting(t, b, w)
	mustRelease(t, a, r)
	awaitGrant(t, granted, patience/3)
	expectRenewal(t, b, w, nil)
}

// After a lost message the waiter gets the lock when the lease of the holder would have ended, or soon after.
func TestLostMessage(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	// The functions notify nobody.
	var texts []string
	rows, err := pool.Query(t.Context(),
		"SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = $1::text::regnamespace AND prosrc LIKE "+
			"'%pg_notify%'", schema)
	if err == nil {
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		err = rows.Err()
	}
	if err != nil || len(texts) == 0 {
		t.Fatalf("%d functions send messages: %v", len(texts), err)
	}
	for _, text := range texts {
		if _, err := pool.Exec(t.Context(), strings.ReplaceAll(text, "pg_notify(", "concat(")); err != nil {
			t.Fatal(err)
		}
	}
	a, b := open(t, pool, schema), open(t, pool, schema)
	r, w := lock("a"), lock("a")
	r.TTL = 2 * time.Second
	first := mustTake(t, a, r)
	granted := startWaiting(t, b, w)
	mustRelease(t, a, r)
	if g := awaitGrant(t, granted, patience/2); g.Token <= first.Token {
		t.Errorf("token %d follows %d", g.Token, first.Token)
	}
	expectRenewal(t, b, w, nil)
}
