package postgres_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// Once a connection has run a request a few times, the server plans none of its statements again. It would do so for
// statements whose plans seem to depend on their arguments, and for functions that it cannot inline.
func TestRequestsAreNotPlannedAgain(t *testing.T) {
	t.Parallel()
	const (
		warm    = 12 // five plans for the arguments at hand, and then one for all
		counted = 8
	)
	// On a server of its own: after other tests make tables, the server plans once more.
	s := postgresserver.ForTest(t, postgresserver.Config{})
	pool := dial(t, s)
	if err := postgres.Migrate(t.Context(), pool, postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), fmt.Sprintf( // it is due at random, and runs long statements
		"CREATE OR REPLACE FUNCTION %s.sweeps(grants integer) RETURNS boolean LANGUAGE sql AS 'SELECT false'",
		postgres.DefaultSchema,
	)); err != nil {
		t.Fatal(err)
	}
	c, err := pgxpool.ParseConfig(s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	var plans atomic.Int64
	c.MaxConns = 1
	c.ConnConfig.RuntimeParams["client_min_messages"] = "log"
	c.ConnConfig.RuntimeParams["log_planner_stats"] = "on"
	c.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if strings.HasPrefix(n.Message, "PLANNER") {
			plans.Add(1)
		}
	}
	observed, err := pgxpool.NewWithConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(observed.Close)
	e := open(t, observed, postgres.DefaultSchema)
	for _, request := range []struct {
		name string
		send func(n int)
	}{
		{"take and release", func(n int) {
			r := lock("free")
			mustTake(t, e, r)
			mustRelease(t, e, r)
		}},
		{"join and hand over", func(n int) {
			name := fmt.Sprintf("contended %d", n)
			holder := lock(name)
			mustTake(t, e, holder)
			first := joinAmong(t, e, lock(name))
			second := joinAmong(t, e, lock(name))
			mustRelease(t, e, holder)
			mustReleaseGranted(t, e, first)
			mustReleaseGranted(t, e, second)
		}},
		{"renew", func(n int) {
			r := lock("renewed")
			mustTake(t, e, r)
			if err := renewal(t.Context(), e, r); err != nil {
				t.Fatal(err)
			}
			mustRelease(t, e, r)
		}},
		{"several at once", func(n int) {
			var takes []driver.Request
			var releases []driver.Hold
			for i := range 4 {
				r := lock(fmt.Sprint("at once ", i))
				takes, releases = append(takes, r), append(releases, hold(r))
			}
			e.AtOnce(t.Context(), takes, nil)
			if _, _, left := e.AtOnce(t.Context(), nil, releases); left != 0 {
				t.Fatalf("%d releases were not done at once", left)
			}
		}},
	} {
		for n := range warm {
			request.send(n)
		}
		if plans.Load() == 0 {
			t.Fatal("the server does not tell when it plans")
		}
		before := plans.Load()
		for n := range counted {
			request.send(n)
		}
		if again := plans.Load() - before; again > 0 {
			t.Errorf("%s: %d statements were planned again in %d runs", request.name, again, counted)
		}
	}
}

// joinAmong joins a queue of limited length, as the core does.
func joinAmong(t *testing.T, e *postgres.Engine, r driver.Request) driver.Request {
	t.Helper()
	r.Join, r.MaxWaiters = true, 1000
	if _, err := e.Take(t.Context(), r); !driver.IsNo(err) {
		t.Fatalf("Take of what another holds: %v, want ErrHeld", err)
	}
	return r
}

// mustReleaseGranted releases what a waiter was granted by the release before.
func mustReleaseGranted(t *testing.T, e *postgres.Engine, r driver.Request) {
	t.Helper()
	if _, err := e.Wait(t.Context(), r); err != nil {
		t.Fatalf("Wait: %v", err)
	}
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
		t.Fatalf("Release: %v", err)
	}
}
