package torture

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// bank is a database with an account, and processes that lock it.
type bank struct {
	*testing.T
	pool *pgxpool.Pool
}

func newBank(t *testing.T) bank {
	t.Helper()
	s := postgresserver.ForTest(t, postgresserver.Config{})
	pool, err := pgxpool.New(t.Context(), s.URL()+"&pool_max_conns=32")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := postgres.Migrate(t.Context(), pool, postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(),
		"CREATE TABLE account (id text PRIMARY KEY, value bigint NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return bank{t, pool}
}

// client is another process as far as locks are concerned.
func (b bank) client() (*leasehold.Client, *postgres.Engine) {
	b.Helper()
	e, err := postgres.New(b.pool)
	if err != nil {
		b.Fatal(err)
	}
	c := leasehold.New(e)
	b.Cleanup(func() {
		if err := errors.Join(c.Close(), e.Close()); err != nil {
			b.Errorf("closing: %v", err)
		}
	})
	return c, e
}

// guard ties a transaction to a lease.
type guard func(ctx context.Context, e *postgres.Engine, tx pgx.Tx, l *leasehold.Lease) error

// increments adds one to an account the given number of times under a lock, in several processes
// that pause from time to time for longer than their leases last. It returns how many of the
// additions are missing in the end.
func (b bank) increments(account string, times int64, protect guard) (lost int64) {
	b.Helper()
	const (
		ttl     = 200 * time.Millisecond
		stop    = 2 * ttl
		workers = 4
		every   = 160 // a worker pauses once in so many turns
	)
	if _, err := b.pool.Exec(b.Context(), "INSERT INTO account VALUES ($1, 0)", account); err != nil {
		b.Fatal(err)
	}
	var done, stopped atomic.Int64
	var running sync.WaitGroup
	began := time.Now()
	for worker := range workers {
		c, e := b.client()
		m := c.Mutex(account, leasehold.TTL(ttl), leasehold.NoRenew())
		running.Go(func() {
			for turn := worker * every / workers; done.Load() < times; turn++ {
				l, err := m.Lock(b.Context())
				if errors.Is(err, leasehold.ErrUnavailable) && time.Since(began) < 4*patience {
					continue // requests for so short a lease may time out on a busy machine
				}
				if err != nil {
					b.Errorf("Lock: %v", err)
					return
				}
				var pauses [2]bool
				if turn%every == every-1 {
					pauses[min(stopped.Add(1)%3, 1)] = true
				}
				switch err := b.increment(account, e, l, protect, func(at int) {
					if pauses[at] {
						time.Sleep(stop)
					}
				}); {
				case err == nil:
					done.Add(1)
				case !errors.Is(err, postgres.ErrLeaseLost):
					b.Errorf("an increment: %v", err)
				}
				if err := l.Release(); err != nil && !errors.Is(err, leasehold.ErrLost) {
					b.Errorf("Release: %v", err)
				}
			}
		})
	}
	running.Wait()
	var value int64
	if err := b.pool.QueryRow(b.Context(), "SELECT value FROM account WHERE id = $1",
		account).Scan(&value); err != nil {
		b.Fatal(err)
	}
	b.Logf("%s: %d increments, %d pauses, %d lost", account, done.Load(), stopped.Load(), done.Load()-value)
	if stopped.Load() == 0 {
		b.Error("nobody has stopped")
	}
	return done.Load() - value
}

// increment reads and writes in one transaction. It may pause in two places: under the lock, but
// before the transaction is guarded, and between reading and writing.
func (b bank) increment(
	account string, e *postgres.Engine, l *leasehold.Lease, protect guard, stop func(at int),
) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after Commit
	stop(0)
	if err := protect(ctx, e, tx, l); err != nil {
		return err
	}
	var value int64
	if err := tx.QueryRow(ctx, "SELECT value FROM account WHERE id = $1", account).Scan(&value); err != nil {
		return err
	}
	stop(1)
	if _, err := tx.Exec(ctx, "UPDATE account SET value = $2 WHERE id = $1", account, value+1); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// Processes that pause for longer than their leases last lose updates of others, unless their
// transactions are guarded.
func TestGuardLosesNoUpdate(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	var lost [2]int64
	var running sync.WaitGroup
	running.Go(func() {
		lost[0] = b.increments("guarded", 1000,
			func(ctx context.Context, e *postgres.Engine, tx pgx.Tx, l *leasehold.Lease) error {
				return e.Guard(ctx, tx, l)
			})
	})
	running.Go(func() {
		lost[1] = b.increments("unguarded", 1000,
			func(context.Context, *postgres.Engine, pgx.Tx, *leasehold.Lease) error { return nil })
	})
	running.Wait()
	if lost[0] != 0 {
		t.Errorf("with Guard %d updates were lost", lost[0])
	}
	if lost[1] <= 0 {
		t.Errorf("without Guard %d updates were lost: the test does not show what it is for", lost[1])
	}
}

// Inside one process a lock is handed over without the database, but not while a transaction guards
// it.
func TestGuardKeepsTheLockInsideOfAProcess(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	c, e := b.client()
	m := c.Mutex("account")
	const rounds = 25
	var open atomic.Int64
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range rounds {
				l, err := m.Lock(t.Context())
				if err != nil {
					t.Errorf("Lock: %v", err)
					return
				}
				tx, err := b.pool.Begin(t.Context())
				if err != nil {
					t.Errorf("Begin: %v", err)
					return
				}
				if n := open.Add(1); n != 1 {
					t.Errorf("%d transactions are open that were guarded with one lock", n)
				}
				err = e.Guard(t.Context(), tx, l)
				// The lease ends before the transaction, which keeps the lock.
				err = errors.Join(err, l.Release())
				_, slept := tx.Exec(t.Context(), "SELECT pg_sleep(0.003)") // time for the next one to begin, if it may
				err = errors.Join(err, slept)
				open.Add(-1) // before the commit, so that the next one does not begin too early
				if err := errors.Join(err, tx.Commit(t.Context())); err != nil {
					t.Errorf("a guarded transaction: %v", err)
				}
			}
		})
	}
	running.Wait()
}

// callerLease is a lease and the cancellation of the caller that asked for it.
type callerLease struct {
	*leasehold.Lease
	giveUp context.CancelFunc
}

// A lease that was handed over inside the process has ended for its former holder, although its row
// lives on in the database, and although the caller had given up before.
func TestGuardRefusesALeaseThatWasHandedOver(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	c, e := b.client()
	m := c.Mutex("account")
	for began := time.Now(); time.Since(began) < patience; {
		first := lock(t, m)
		next := make(chan callerLease, 2)
		var running sync.WaitGroup
		for range 2 {
			running.Go(func() {
				ctx, giveUp := context.WithCancel(t.Context())
				l, err := m.Lock(ctx)
				if err != nil {
					t.Errorf("Lock: %v", err)
				}
				next <- callerLease{l, giveUp}
			})
		}
		time.Sleep(5 * time.Millisecond) // for both to join the queue; if they do not, another round follows
		unlock(t, first)
		second := <-next
		_ = second.Context()
		second.giveUp()
		unlock(t, second.Lease)
		third := <-next
		running.Wait()
		handedOn := third.Token() == second.Token()+1
		if handedOn {
			tx, err := b.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Guard(t.Context(), tx, second); !errors.Is(err, postgres.ErrLeaseLost) {
				t.Errorf("Guard with a lease that was handed over: %v, want ErrLeaseLost", err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		}
		unlock(t, third.Lease)
		third.giveUp()
		if handedOn {
			return
		}
	}
	t.Error("the lock was never handed over")
}
