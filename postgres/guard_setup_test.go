package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// lease is a lease as the library sees it.
type lease struct {
	name  string
	token uint64
	err   error // why it has ended
}

func (l lease) Name() string  { return l.name }
func (l lease) Token() uint64 { return l.token }
func (l lease) Err() error    { return l.err }

// guardTest has an engine, another one on the same tables, and a schema of its own.
type guardTest struct {
	*testing.T
	ctx    context.Context // ends if something hangs
	schema string
	pool   *pgxpool.Pool
	a, b   *postgres.Engine
}

func newGuardTest(t *testing.T) guardTest {
	t.Helper()
	_, schema := newTables(t)
	return guardTestIn(t, schema)
}

// poolAt is a pool on a server, which is closed with the test.
func poolAt(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// guardTestIn is a part of a test with a pool and engines of its own.
func guardTestIn(t *testing.T, schema string) guardTest {
	t.Helper()
	pool := poolAt(t, shared(t).URL()+"&pool_max_conns=8")
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	return guardTest{t, ctx, schema, pool, open(t, pool, schema), open(t, pool, schema)}
}

// lockRequest is a request for a lock.
func lockRequest(owner string, ttl time.Duration) driver.Request {
	return driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "account"}, Owner: owner, Size: 1, Weight: 1,
		TTL: ttl, Tokens: 4}
}

func (g guardTest) take(e *postgres.Engine, r driver.Request) lease {
	g.Helper()
	grant, err := e.Take(g.ctx, r)
	if err != nil {
		g.Fatal(err)
	}
	return lease{r.Name, grant.Token, nil}
}

func (g guardTest) release(e *postgres.Engine, r driver.Request, l lease) {
	g.Helper()
	if err := e.Release(g.ctx, driver.Release{Hold: held(r, l)}); err != nil {
		g.Errorf("Release: %v", err)
	}
}

func held(r driver.Request, l lease) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Token: l.token, Mode: r.Mode}
}

func (g guardTest) begin(level pgx.TxIsoLevel) pgx.Tx {
	g.Helper()
	tx, err := g.pool.BeginTx(g.ctx, pgx.TxOptions{IsoLevel: level})
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // it has ended in most tests
	return tx
}

// mustGuard guards a transaction.
func (g guardTest) mustGuard(tx pgx.Tx, l lease) {
	g.Helper()
	if err := g.a.Guard(g.ctx, tx, l); err != nil {
		g.Fatalf("Guard: %v", err)
	}
}

// mustRefuse expects that both ways of guarding refuse a lease.
func (g guardTest) mustRefuse(what string, l lease) {
	g.Helper()
	tx := g.begin("")
	if err := g.a.Guard(g.ctx, tx, l); !errors.Is(err, postgres.ErrLeaseLost) || !errors.Is(err, driver.ErrNotHeld) {
		g.Errorf("Guard, %s: %v, want ErrLeaseLost", what, err)
	}
	if err := tx.Rollback(g.ctx); err != nil {
		g.Error(err)
	}
	db := stdlib.OpenDBFromPool(g.pool)
	defer db.Close()
	other, err := db.BeginTx(g.ctx, nil)
	if err != nil {
		g.Fatal(err)
	}
	if err := g.a.GuardSQL(g.ctx, other, l); !errors.Is(err, postgres.ErrLeaseLost) {
		g.Errorf("GuardSQL, %s: %v, want ErrLeaseLost", what, err)
	}
	if err := other.Rollback(); err != nil {
		g.Error(err)
	}
}

// mustStayTaken expects that the lock is not granted to another owner.
func (g guardTest) mustStayTaken(what string, r driver.Request) {
	g.Helper()
	if grant, err := g.b.Take(g.ctx, r); !errors.Is(err, driver.ErrHeld) {
		g.Fatalf("%s the lock was granted to another: %+v, %v", what, grant, err)
	}
}
