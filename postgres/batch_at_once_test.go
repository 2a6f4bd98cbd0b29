package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// at_once takes what is free and releases what is held, also for others that take it in the same batch. It leaves
// everything else alone.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	e, _ := engineOver(t, 4)
	free, fresh, taken, passed, waited, shared := lock("free"), lock("fresh"), lock("taken"), lock("passed"),
		lock("waited"), lock("shared")
	mustTake(t, e, free)
	mustRelease(t, e, free)
	for _, r := range []driver.Request{taken, passed, waited} {
		mustTake(t, e, r)
	}
	queued := lock("waited")
	queued.Join = true
	if _, err := e.Take(t.Context(), queued); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	shared.Mode = driver.Shared
	mustTake(t, e, shared)
	over := lock("over")
	over.TTL = time.Millisecond
	mustTake(t, e, over)
	eventually(t, "the lease to end", func() bool {
		page, err := e.List(t.Context(), driver.Query{Name: "over"})
		return err == nil && len(page) == 0
	})
	next := lock("passed")
	tokens, released, left := e.AtOnce(t.Context(),
		[]driver.Request{lock("free"), fresh, lock("fresh"), lock("taken"), next, lock("waited"), lock("shared")},
		[]driver.Hold{hold(passed), hold(waited), hold(lock("taken")), hold(over), hold(lock("nothing"))})
	granted := func(i int) bool { return tokens[i] != 0 }
	if !granted(0) || granted(1) == granted(2) || granted(3) || !granted(4) || granted(5) || granted(6) {
		t.Errorf("the tokens are %v", tokens)
	}
	if want := []bool{true, false, false, false, false}; !slices.Equal(released, want) {
		t.Errorf("released: %v, want %v", released, want)
	}
	// one of two for the same name; the taken, waited for and shared ones; three of five releases (one lease had ended,
	// which is an answer)
	if left != 7 {
		t.Errorf("%d requests are left to be sent by themselves, want 7", left)
	}
	if tokens[0] == tokens[4] {
		t.Errorf("two grants have the same token: %v", tokens)
	}
	if err := e.Release(t.Context(), driver.Release{Hold: hold(passed)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("a hold that was handed over was released again: %v", err)
	}
	mustRelease(t, e, next)
}

// If at_once fails, each request is sent by itself.
func TestWithoutAtOnce(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	if _, err := pool.Exec(t.Context(), "DROP FUNCTION "+schema+".at_once"); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for i := range 64 {
		running.Go(func() {
			r := lock(fmt.Sprintf("name-%d", i))
			mustTake(t, e, r)
			mustRelease(t, e, r)
		})
	}
	running.Wait()
}

// shut_at_once releases locks to the heads of their queues, and joins queues. It leaves alone what is not the usual
// case, and names that somebody else works on, for which it does not wait.
func TestShutAtOnce(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	holders := make(map[string]driver.Request)
	for _, name := range []string{"awaited", "busy", "alone"} {
		holders[name] = lock(name)
		mustTake(t, e, holders[name])
	}
	first := joinAmong(t, e, lock("awaited"))
	inTheWay := joinAmong(t, e, lock("busy"))
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }() // at the latest
	if _, err := tx.Exec(t.Context(), "SELECT "+schema+".key_lock(1::smallint, 'busy')"); err != nil {
		t.Fatal(err)
	}
	joins := []driver.Request{lock("awaited"), lock("busy"), lock("nothing")}
	for i := range joins {
		joins[i].Join, joins[i].MaxWaiters = true, 10
	}
	releases := []driver.Hold{
		hold(holders["awaited"]), hold(holders["busy"]), hold(holders["alone"]), hold(lock("nothing")),
	}
	refused, released, left := e.ShutAtOnce(t.Context(), releases, joins)
	if want := []bool{true, false, false, false}; !slices.Equal(released, want) || left != 5 {
		t.Errorf("released %v, and %d are left; want %v and 5", released, left, want)
	}
	if held := new(driver.HeldError); !errors.As(refused[0], &held) || held.Left <= 0 || held.Left > 5*time.Second ||
		refused[1] != nil || refused[2] != nil {
		t.Errorf("the joins are answered with %v", refused)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustReleaseGranted(t, e, first)
	mustReleaseGranted(t, e, joins[0])
	mustRelease(t, e, holders["busy"])
	mustReleaseGranted(t, e, inTheWay)
	mustRelease(t, e, holders["alone"])
}

// Many callers of two programs want the same names: all get their turns, each alone, whether their requests share
// transactions or not.
func TestContentionWithAndWithoutShutAtOnce(t *testing.T) {
	t.Parallel()
	for _, drop := range []bool{false, true} {
		t.Run(fmt.Sprint("dropped ", drop), func(t *testing.T) {
			t.Parallel()
			pool, schema := newTables(t)
			if drop {
				if _, err := pool.Exec(t.Context(), "DROP FUNCTION "+schema+".shut_at_once"); err != nil {
					t.Fatal(err)
				}
			}
			const names, turns = 16, 6
			var holds [names]atomic.Int32
			var running sync.WaitGroup
			for range 2 {
				e := open(t, dial(t, shared(t)), schema)
				for i := range names {
					running.Go(func() {
						for range turns {
							r := lock(fmt.Sprint("name ", i))
							r.Join, r.MaxWaiters = true, 100
							_, err := e.Take(t.Context(), r)
							if errors.Is(err, driver.ErrHeld) {
								_, err = e.Wait(t.Context(), r)
							}
							if err != nil {
								t.Error(err)
								return
							}
							if n := holds[i].Add(1); n != 1 {
								t.Errorf("%d hold %s", n, r.Name)
							}
							holds[i].Add(-1)
							mustRelease(t, e, r)
						}
					})
				}
			}
			running.Wait()
		})
	}
}

// A take that is about to change a row, which another one has changed first, does not wait with that row locked:
// whoever has locked the key may need it.
func TestALateTakeLocksNoRow(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	joins := func(name string) driver.Request {
		r := lock(name)
		r.Join = true
		return r
	}
	mustTake(t, e, lock("other"))
	// from now on the engine listens, and joins with its first request
	if _, err := e.Take(ctx, joins("other")); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	r := lock("a")
	mustTake(t, e, r)
	mustRelease(t, e, r)
	conn := func() *pgxpool.Conn {
		c, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Release)
		return c
	}
	exec := func(c *pgxpool.Conn, query string) {
		t.Helper()
		if _, err := c.Exec(ctx, query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	first, key := conn(), conn()
	exec(first, "BEGIN")
	exec(first, "UPDATE "+schema+".holders SET owner = 'first', expires = clock_timestamp() + interval '1 minute' "+
		"WHERE name = 'a'")
	exec(key, "BEGIN")
	exec(key, "SELECT "+schema+".key_lock(1::smallint, 'a')")
	answer := make(chan error, 1)
	go func() {
		_, err := e.Take(ctx, joins("a"))
		answer <- err
	}()
	awaitTake(t, pool, schema, "transactionid")
	exec(first, "COMMIT")
	awaitTake(t, pool, schema, "advisory")
	exec(key, "SELECT "+schema+".enter(1::smallint, 'a')")
	exec(key, "COMMIT")
	if err := <-answer; !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take: %v, want ErrHeld", err)
	}
}

// A row that came from a backup into another table is not trusted.
func TestARowFromABackupIsNotTaken(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	r := lock("a")
	mustTake(t, e, r)
	mustRelease(t, e, r)
	if _, err := pool.Exec(t.Context(), "UPDATE "+schema+".holders SET home = home + 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "UPDATE "+schema+".alive SET id = id + 1"); err != nil {
		t.Fatal(err)
	}
	var closed *postgres.ClosedError
	if _, err := e.Take(t.Context(), lock("a")); !errors.As(err, &closed) {
		t.Errorf("Take: %v, want ClosedError", err)
	}
	if tokens, _, _ := e.AtOnce(t.Context(), []driver.Request{lock("a"), lock("b"), lock("c")},
		nil); !slices.Equal(tokens, []uint64{0, 0, 0}) {
		t.Errorf("taken at once: %v", tokens)
	}
}
