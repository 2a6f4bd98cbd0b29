package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// durableServer is a server of the test's own that keeps what it has confirmed when it crashes.
func durableServer(t *testing.T) *postgresserver.Server {
	t.Helper()
	return postgresserver.ForTest(t, postgresserver.Config{TCP: true, Durable: true})
}

// engineOn opens an engine on a server, and makes the tables.
func engineOn(t *testing.T, s *postgresserver.Server, opts ...postgres.Option) *postgres.Engine {
	t.Helper()
	pool := dial(t, s)
	if err := postgres.Migrate(t.Context(), pool, postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	return open(t, pool, postgres.DefaultSchema, opts...)
}

func crash(t *testing.T, s *postgresserver.Server) {
	t.Helper()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
}

// A crash of the server loses all leases. None is granted again before it would have ended, and tokens go on growing.
func TestCrashLosesLeasesAndGrantsNoneTwice(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	s := durableServer(t)
	a := engineOn(t, s, postgres.WithMaxTTL(ttl))
	short := engineOn(t, s, postgres.WithMaxTTL(time.Second)) // the longest ttl of all engines counts
	r := lock("name")
	r.TTL = ttl
	latch := driver.LatchSet{Name: "name", ID: r.Owner, Count: 2, TTL: time.Minute}
	if set, err := a.TrySet(t.Context(), latch); !set || err != nil {
		t.Fatal(set, err)
	}
	mustTake(t, short, func() driver.Request { r := lock("other"); r.TTL = time.Second; return r }())
	g := mustTake(t, a, r)
	ends := time.Now().Add(ttl) // at the earliest, as the holder sees it

	crash(t, s)
	b := engineOn(t, s, postgres.WithMaxTTL(ttl))
	next := lock("name")
	next.TTL = ttl
	_, err := b.Take(t.Context(), next)
	closed, ok := errors.AsType[*postgres.ClosedError](err)
	if !ok || !driver.HadNoEffect(err) || closed.Open.Before(ends.Add(-50*time.Millisecond)) {
		t.Fatalf("after a crash Take answers %v, want ClosedError until %v or later", err, ends)
	}
	joins := next
	joins.Join = true
	if _, err := b.Take(t.Context(), joins); !errors.Is(err, driver.ErrHeld) || !errors.As(err, &closed) {
		t.Errorf("after a crash Take with Join answers %v, want ErrHeld with ClosedError", err)
	}
	if grants, err := b.TakeAll(t.Context(), []driver.Request{next}); !errors.As(err, &closed) {
		t.Errorf("after a crash TakeAll answers %v, %v, want ClosedError", grants, err)
	}
	if err := b.Release(t.Context(), driver.Release{Hold: hold(r)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release of a lease that was lost: %v, want ErrNotHeld", err)
	}
	if state, err := b.LatchState(t.Context(), "name"); err != nil || state.Count != 2 {
		t.Errorf("after a crash the latch stands at %+v, %v, want 2", state, err)
	}
	unguarded := engineOn(t, s, postgres.WithMaxTTL(ttl), postgres.WithoutCrashGuard())
	if early := mustTake(t, unguarded, lock("unguarded")); early.Token <= g.Token {
		t.Errorf("after a crash token %d follows %d", early.Token, g.Token)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	after, err := b.Wait(ctx, next)
	if err != nil {
		t.Fatal(err)
	}
	if early := time.Until(ends); early > 0 {
		t.Errorf("the lock was granted again %v before the lease that was lost has ended", early)
	}
	if after.Token <= g.Token {
		t.Errorf("after a crash token %d follows %d", after.Token, g.Token)
	}
}
