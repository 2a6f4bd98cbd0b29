package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
)

func TestGuardRefusesALeaseThatIsOver(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	r := lockRequest("a", time.Minute)
	l := g.take(g.a, r)
	g.mustRefuse("token 0", lease{r.Name, 0, nil})
	g.mustRefuse("a token of nobody", lease{r.Name, driver.MaxToken, nil})
	g.mustRefuse("a token that is too large", lease{r.Name, driver.MaxToken + 1, nil})
	g.mustRefuse("a token before", lease{r.Name, l.token - 1, nil})
	g.mustRefuse("a token behind", lease{r.Name, l.token + 4, nil})
	g.mustRefuse("another name", lease{"other", l.token, nil})
	g.mustRefuse("a lease that says it is over", lease{r.Name, l.token, errors.New("released here")})
	if g.a.Wanted(r.Key) || g.a.Wanted(driver.Key{Kind: driver.Lock, Name: "other"}) {
		t.Error("a refused guard prevents hand-over inside the process")
	}
	g.mustGuard(g.begin(""), lease{r.Name, l.token + 3, nil}) // another token of the same grant
	g.mustRefuse("a lease that says it is over, while another transaction guards",
		lease{r.Name, l.token + 3, errors.New("released here")})
	if !g.a.Wanted(r.Key) {
		t.Error("a refused guard has removed another one")
	}
}

func TestGuardRefusesAfterReleaseForceAndExpiry(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	r := lockRequest("a", time.Minute)
	l := g.take(g.a, r)
	g.release(g.a, r, l)
	g.mustRefuse("released", l)
	next := g.take(g.a, r)
	g.mustRefuse("released and taken again", l)
	if err := g.b.ForceRelease(t.Context(), r.Key, next.token); err != nil {
		t.Fatal(err)
	}
	g.mustRefuse("taken away", next)
	kept := g.take(g.a, r)
	if err := g.a.Release(t.Context(), driver.Release{Hold: held(r, kept), Keep: time.Minute}); err != nil {
		t.Fatal(err)
	}
	g.mustRefuse("released, and kept taken", kept)
	short := lockRequest("a", time.Second)
	short.Name = "short"
	l = g.take(g.a, short)
	time.Sleep(1010 * time.Millisecond)
	g.mustRefuse("over", l)
}

// While the transaction is open nobody else is granted the lock, whatever happens to the lease.
func TestGuardKeepsTheLock(t *testing.T) {
	t.Parallel()
	_, schema := newTables(t)
	for name, ends := range map[string]func(g guardTest, r driver.Request, l lease){
		"that has expired": func(g guardTest, r driver.Request, _ lease) {
			if _, err := g.pool.Exec(g.ctx,
				"UPDATE "+g.schema+".holders SET expires = clock_timestamp() WHERE name = $1", r.Name); err != nil {
				g.Error(err)
			}
		},
		"that is released": func(g guardTest, r driver.Request, l lease) { g.release(g.a, r, l) },
		"taken by force": func(g guardTest, r driver.Request, l lease) {
			if err := g.b.ForceRelease(g.ctx, r.Key, l.token); err != nil {
				g.Error(err)
			}
		},
	} {
		for after, finish := range map[string]func(context.Context, pgx.Tx) error{
			"commit":   func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) },
			"rollback": func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) },
			"the end of the connection": func(ctx context.Context, tx pgx.Tx) error {
				return tx.Conn().Close(ctx)
			},
		} {
			t.Run(name+", until "+after, func(t *testing.T) {
				t.Parallel()
				g := guardTestIn(t, schema)
				r, other := lockRequest("a", time.Minute), lockRequest("b", time.Minute)
				r.Name, other.Name = t.Name(), t.Name()
				l := g.take(g.a, r)
				tx := g.begin("")
				g.mustGuard(tx, l)
				ends(g, r, l)
				g.mustRefuse("guarded, and over", l)
				g.mustStayTaken("while a transaction guards", other)
				other.Join = true
				g.mustStayTaken("while a transaction guards", other)
				granted := make(chan error, 1)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				go func() {
					_, err := g.b.Wait(ctx, other)
					granted <- err
				}()
				select {
				case err := <-granted:
					t.Fatalf("a waiter got the lock, while a transaction guards: %v", err)
				case <-time.After(100 * time.Millisecond):
				}
				began := time.Now()
				if err := finish(ctx, tx); err != nil {
					t.Error(err)
				}
				if err := <-granted; err != nil {
					t.Errorf("after %v the waiter has not got the lock: %v", time.Since(began), err)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("the waiter got the lock only %v after the end of the transaction", took)
				}
			})
		}
	}
}

// Renewals go on while a lease is guarded, and guards while it is renewed, at all isolation levels.
func TestGuardAndRenew(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	r := lockRequest("a", 5*time.Second)
	l := g.take(g.a, r)
	renew := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		g.a.Renew(ctx, []driver.Renewal{{Hold: held(r, l), TTL: r.TTL}}, func(_ int, err error) {
			if err != nil {
				t.Errorf("Renew: %v", err)
			}
		})
	}
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		tx := g.begin(level)
		if _, err := tx.Exec(t.Context(), "SELECT 1"); err != nil { // it takes its snapshot now
			t.Fatal(err)
		}
		renew()
		g.mustGuard(tx, l)
		renew()
		g.mustGuard(tx, l)
		renew()
		if err := tx.Commit(t.Context()); err != nil {
			t.Errorf("%s: %v", level, err)
		}
	}
}

// A transaction that does not see what was written before the grant is not protected by it.
func TestGuardRefusesATransactionFromBeforeTheGrant(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		g := newGuardTest(t)
		tx := g.begin(level)
		if _, err := tx.Exec(t.Context(), "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		l := g.take(g.a, lockRequest("a", time.Minute))
		if err := g.a.Guard(t.Context(), tx, l); err == nil {
			t.Errorf("%s: a transaction from before the grant was guarded", level)
		}
	}
}

// A transaction that guards an exclusive lease ends before readers are let in.
func TestGuardKeepsReadersOut(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	r, reader := lockRequest("a", time.Minute), lockRequest("b", time.Minute)
	reader.Mode = driver.Shared
	l := g.take(g.a, r)
	tx := g.begin("")
	g.mustGuard(tx, l)
	if err := g.a.Downgrade(t.Context(), held(r, l)); err == nil || driver.IsNo(err) || driver.IsPermanent(err) ||
		!driver.HadNoEffect(err) {
		t.Errorf("Downgrade while a transaction guards: %v, want an error without effect", err)
	}
	g.mustStayTaken("while a writer guards", reader)
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if err := g.a.Downgrade(t.Context(), held(r, l)); err != nil {
		t.Errorf("Downgrade: %v", err)
	}
	g.mustGuard(g.begin(""), l)
	if err := g.a.Downgrade(t.Context(), held(r, l)); err != nil {
		t.Errorf("Downgrade of what is shared already, and guarded: %v", err)
	}
	g.take(g.b, reader)
}

// An owner whose guarded lease has ended does not hold, and cannot get the lease back by asking again.
func TestATakeDoesNotBringBackAGuardedLease(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	r := lockRequest("a", time.Minute)
	l := g.take(g.a, r)
	g.mustGuard(g.begin(""), l)
	if _, err := g.pool.Exec(g.ctx, "UPDATE "+g.schema+".holders SET expires = clock_timestamp() WHERE name = $1",
		r.Name); err != nil {
		t.Fatal(err)
	}
	g.mustStayTaken("by the owner of before", r)
}

// Permits and shared locks can be guarded, too, each by itself.
func TestGuardOfSharedLocksAndPermits(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	r, s := lockRequest("a", time.Minute), lockRequest("b", time.Minute)
	r.Mode, s.Mode = driver.Shared, driver.Shared
	l, other := g.take(g.a, r), g.take(g.b, s)
	tx := g.begin("")
	g.mustGuard(tx, l)
	g.release(g.b, s, other)
	g.release(g.a, r, l)
	g.mustStayTaken("while a reader guards", lockRequest("c", time.Minute))
	r.Key.Kind, r.Mode, r.Size = driver.Semaphore, driver.Exclusive, 2
	s = r
	s.Owner = "b"
	l, other = g.take(g.a, r), g.take(g.b, s)
	g.mustGuard(tx, l)
	g.release(g.a, r, l)
	s.Owner = "c"
	g.mustStayTaken("while a permit is guarded", s)
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	g.take(g.b, s)
	s.Owner = "b"
	g.release(g.b, s, other)
}

// A guarded lock is not handed over inside the process.
func TestAGuardedLockIsWanted(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	r := lockRequest("a", time.Minute)
	wanted := func(want bool, when string) {
		t.Helper()
		if got := g.a.Wanted(r.Key); got != want {
			t.Errorf("%s the lock is wanted: %v, want %v", when, got, want)
		}
	}
	wanted(false, "before")
	first := g.take(g.a, r)
	wanted(false, "without a guard")
	tx := g.begin("")
	g.mustGuard(tx, lease{r.Name, first.token + 2, nil})
	wanted(true, "while guarded")
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	wanted(true, "in the same hold")
	g.release(g.a, r, first)
	wanted(false, "released")
	second := g.take(g.a, r)
	g.mustGuard(g.begin(""), second)
	// repeats the release of an earlier hold
	_ = g.a.Release(t.Context(), driver.Release{Hold: held(lockRequest("x", 0), first)})
	wanted(true, "guarded in a later hold")
	if err := g.b.ForceRelease(t.Context(), r.Key, second.token); err != nil {
		t.Fatal(err)
	}
	g.a.Renew(t.Context(), []driver.Renewal{{Hold: held(r, second), TTL: r.TTL}}, func(_ int, err error) {
		if !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Renew of what was taken away: %v", err)
		}
	})
	wanted(false, "lost")
}
