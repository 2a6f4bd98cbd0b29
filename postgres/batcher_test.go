package postgres_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// engineOver is an engine over a pool of so many connections.
func engineOver(t *testing.T, connections int) (*postgres.Engine, *pgxpool.Pool) {
	t.Helper()
	_, schema := newTables(t)
	c, err := pgxpool.ParseConfig(shared(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	c.MaxConns = int32(connections)
	pool, err := pgxpool.NewWithConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return open(t, pool, schema), pool
}

// Requests of many goroutines share round trips.
func TestRequestsAreSentTogether(t *testing.T) {
	t.Parallel()
	e, pool := engineOver(t, 16)
	const goroutines, times = 64, 10
	var running sync.WaitGroup
	for i := range goroutines {
		running.Go(func() {
			for range times {
				r := lock(fmt.Sprintf("name-%d", i))
				mustTake(t, e, r)
				mustRelease(t, e, r)
			}
		})
	}
	running.Wait()
	if n := pool.Stat().AcquireCount(); n > goroutines*times {
		t.Errorf("%d requests took a connection %d times", 2*goroutines*times, n)
	}
}

// Each request of a batch is a transaction of its own, and has an error of its own.
func TestBatchedRequestsAreIndependent(t *testing.T) {
	t.Parallel()
	e, _ := engineOver(t, 1)
	values, errs := e.Together(t.Context(), "SELECT txid_current()", "SELECT 1/0", "SELECT txid_current()",
		"SELECT nonsense", "SELECT true")
	for i, failed := range []bool{false, true, false, true, false} {
		if failed != (errs[i] != nil) || failed && !driver.HadNoEffect(errs[i]) {
			t.Errorf("request %d: %v, want an error without effect: %v", i, errs[i], failed)
		}
	}
	if values[0] == values[2] {
		t.Error("two requests were one transaction")
	}
	if values[4] != "\x01" {
		t.Errorf("the last one was answered %q", values[4])
	}
}

// garbled is a connection that turns the next message of the server into nonsense, once it is told to.
type garbled struct {
	net.Conn
	next *atomic.Bool
}

func (c garbled) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n >= 5 && c.next.CompareAndSwap(true, false) {
		copy(b, "\x01\xff\xff\xff\xff")
	}
	return n, err
}

// After a message that makes no sense, the requests that were not sent on that connection are sent on another one.
func TestRequestsAfterAGarbledMessage(t *testing.T) {
	t.Parallel()
	_, schema := newTables(t)
	c, err := pgxpool.ParseConfig(shared(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // that would be garbled
	var next atomic.Bool
	dial := c.ConnConfig.DialFunc
	c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return garbled{conn, &next}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	e := open(t, pool, schema)
	mustTake(t, e, lock("first"))

	next.Store(true)
	_, errs := e.Together(t.Context(), "SELECT true", "SELECT NOT false", "SELECT 1 = 1")
	for i, err := range errs {
		if err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if next.Load() {
		t.Error("no message was garbled")
	}
	for i := range 3 {
		mustTake(t, e, lock(fmt.Sprintf("before-%d", i))) // so that the statement is prepared
		next.Store(true)
		r := lock(fmt.Sprintf("name-%d", i))
		if _, err := e.Take(t.Context(), r); err == nil || driver.HadNoEffect(err) {
			t.Errorf("Take whose answer was garbled: %v", err)
		}
		mustTake(t, e, r)
		mustRelease(t, e, r)
		if _, err := e.List(t.Context(), driver.Query{}); err != nil {
			t.Errorf("List: %v", err)
		}
	}
}

// When a connection breaks, the outcome of a request is unknown unless it was answered before.
func TestABrokenBatchHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	e, _ := engineOver(t, 1)
	_, errs := e.Together(t.Context(), "SELECT true", "SELECT pg_terminate_backend(pg_backend_pid())", "SELECT true")
	if errs[0] != nil {
		t.Errorf("what was answered before: %v", errs[0])
	}
	for _, err := range errs[1:] {
		if err == nil || driver.HadNoEffect(err) {
			t.Errorf("sent and not answered: %v, want an error that says nothing of the outcome", err)
		}
	}
	if _, errs := e.Together(t.Context(), "SELECT true"); errs[0] != nil {
		t.Errorf("the next batch: %v", errs[0])
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, errs := e.Together(ended, "SELECT true"); !driver.HadNoEffect(errs[0]) {
		t.Errorf("not sent: %v, want an error without effect", errs[0])
	}
}

// If a program deallocates prepared statements, one request fails.
func TestStatementsArePreparedAnew(t *testing.T) {
	t.Parallel()
	e, pool := engineOver(t, 1)
	r := lock("a")
	mustTake(t, e, r)
	mustRelease(t, e, r)
	if _, err := pool.Exec(t.Context(), "DEALLOCATE ALL"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Take(t.Context(), r); !driver.HadNoEffect(err) {
		t.Errorf("Take without its statement: %v, want an error without effect", err)
	}
	mustTake(t, e, r)
}

// A request that waits for something on the server delays only the requests of its batch.
func TestASlowBatchDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	e, pool := engineOver(t, 16)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	senders := e.MaxSenders()
	var running sync.WaitGroup
	for range senders {
		running.Go(func() {
			if err := e.Sleep(ctx); err == nil || ctx.Err() == nil {
				t.Errorf("a request of a minute: %v", err)
			}
		})
	}
	eventually(t, "all are in flight", func() bool { return pool.Stat().AcquiredConns() == int32(senders) })
	r := lock("a")
	mustTake(t, e, r)
	mustRelease(t, e, r)
	cancel()
	running.Wait()
}
