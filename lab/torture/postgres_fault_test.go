package torture

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// longest is the TTL of the leases of these tests, and so how long the engine waits out a crash. A
// restart takes less, even on a busy machine.
const longest = 6 * time.Second

// openPostgres returns a client of the library on a server, and creates the tables.
func openPostgres(t *testing.T, s *postgresserver.Server) client {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := postgres.Migrate(t.Context(), pool, postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	e, err := postgres.New(pool, postgres.WithMaxTTL(longest))
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(e, answer)
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), e.Close()); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return c
}

// contend lets one client hold a lock and another one wait for it. It returns the lease, and a
// channel for the lease of the latter.
func contend(t *testing.T, s *postgresserver.Server) (*leasehold.Lease, <-chan *leasehold.Lease) {
	t.Helper()
	a, b := openPostgres(t, s), openPostgres(t, s)
	first := lock(t, a.Mutex("a", leasehold.TTL(longest)))
	next := make(chan *leasehold.Lease, 1)
	go func() {
		defer close(next)
		l, err := lockInTime(t, b.Mutex("a", leasehold.TTL(longest)))
		if err != nil {
			t.Errorf("Lock: %v", err)
			return
		}
		next <- l
	}()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		seen, err := a.ops.Inspect(t.Context(), "a")
		// The waiter must have known for a while that it waits: otherwise it may give up when the
		// server ends.
		if err == nil && len(seen) == 1 && len(seen[0].Queue) == 1 && seen[0].Queue[0].Age > 300*time.Millisecond {
			return first, next
		}
		if time.Since(began) > patience {
			t.Fatalf("nobody waits: %+v, %v", seen, err)
		}
	}
}

// A lease survives when an operator restarts the server and is renewed afterwards, and waiters keep
// waiting.
func TestRestartedPostgres(t *testing.T) {
	t.Parallel()
	s := postgresserver.ForTest(t, postgresserver.Config{TCP: true, Durable: true})
	first, next := contend(t, s)
	if err := errors.Join(s.Stop(), s.Restart()); err != nil {
		t.Fatal(err)
	}
	awaitRenewal(t, first, longest, next)
	unlock(t, first)
	if l := <-next; l == nil || l.Token() <= first.Token() {
		t.Errorf("the next lease is %+v", l)
	} else {
		unlock(t, l)
	}
}

// A crash of the server ends the lease, and its holder is told. Nobody else gets the lock before
// the holder must know.
func TestCrashedPostgres(t *testing.T) {
	t.Parallel()
	s := postgresserver.ForTest(t, postgresserver.Config{TCP: true, Durable: true})
	first, next := contend(t, s)
	ctx := first.Context()
	if err := errors.Join(s.Kill(), s.Restart()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case l := <-next:
		t.Fatalf("another was granted the lock that is still held: %+v", l)
	}
	if !errors.Is(context.Cause(ctx), leasehold.ErrLost) || !errors.Is(first.Release(), leasehold.ErrLost) {
		t.Errorf("the lease ended: %v", context.Cause(ctx))
	}
	if l := <-next; l == nil || l.Token() <= first.Token() {
		t.Errorf("the next lease is %+v", l)
	} else {
		unlock(t, l)
	}
}
