package postgres_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// queryCounter counts the statements of a pool, and of the connections that are made like its own.
type queryCounter struct{ n atomic.Int64 }

func (c *queryCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (c *queryCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// mustJoin joins the queue of a name that another owner must hold.
func mustJoin(t *testing.T, e *postgres.Engine, r driver.Request) driver.Request {
	t.Helper()
	r.Join = true
	if _, err := e.Take(t.Context(), r); !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take of what another holds: %v, want ErrHeld", err)
	}
	return r
}

// startWait waits in a goroutine.
func startWait(t *testing.T, e *postgres.Engine, r driver.Request) <-chan error {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() {
		_, err := e.Wait(ctx, r)
		done <- err
	}()
	return done
}

// Waiting sends no requests, and a release hands over without a request of the waiter.
func TestWaitingCostsNoPolling(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	c, err := pgxpool.ParseConfig(shared(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	var sent queryCounter
	c.ConnConfig.Tracer = &sent
	counted, err := pgxpool.NewWithConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(counted.Close)
	a, b := open(t, pool, schema), open(t, counted, schema)
	r := lock("name")
	mustTake(t, a, r)
	next := mustJoin(t, b, lock("name"))
	before := sent.n.Load()
	done := startWait(t, b, next)
	time.Sleep(1500 * time.Millisecond) // the test is that nothing happens
	mustRelease(t, a, r)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := sent.n.Load() - before; n != 0 {
		t.Errorf("%d statements were sent while waiting, want none", n)
	}
	mustRelease(t, b, next)
}

// A waiter whose process has died is passed over at once by the next request.
func TestDeadWaiterIsPassedOver(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	a, dead, b := open(t, pool, schema), open(t, pool, schema), open(t, pool, schema)
	r := lock("name")
	mustTake(t, a, r)
	mustJoin(t, dead, lock("name"))
	next := mustJoin(t, b, lock("name"))
	done := startWait(t, b, next)
	dead.Close()
	eventually(t, "the server notices the end of the session", func() bool {
		page, err := a.List(t.Context(), driver.Query{Name: r.Name})
		return err == nil && len(page) == 1 && page[0].Waiting == 1
	})
	began := time.Now()
	mustRelease(t, a, r)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the waiter behind a dead one got the lock after %v", took)
	}
	mustRelease(t, b, next)
	mustTake(t, a, lock("name"))
}

// The holder dies, and the head of the queue polls when the lease has ended.
func TestEndOfALeaseIsNoticed(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	a, b := open(t, pool, schema), open(t, pool, schema)
	r := lock("name")
	r.TTL = 3 * time.Second
	mustTake(t, a, r)
	began := time.Now()
	if err := <-startWait(t, b, mustJoin(t, b, lock("name"))); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > r.TTL+3*time.Second {
		t.Errorf("the lease of %v was noticed to have ended after %v", r.TTL, took)
	}
}
