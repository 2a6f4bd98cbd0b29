package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// wantData expects the data of a name; empty means none.
func (g guardTest) wantData(name, value string, token uint64) {
	g.Helper()
	d, err := g.b.Data(g.Context(), name)
	if err != nil || string(d.Value) != value || value != "" && d.Token != token {
		g.Fatalf("the data is %q with token %d, %v; want %q with token %d", d.Value, d.Token, err, value, token)
	}
}

// setTx stores data in a transaction that is still open.
func (g guardTest) setTx(l lease, value string) pgx.Tx {
	g.Helper()
	tx := g.begin("")
	if err := g.a.SetDataTx(g.Context(), tx, l, []byte(value)); err != nil {
		g.Fatal(err)
	}
	return tx
}

func TestDataInATransaction(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	r := lockRequest("a", time.Minute)
	l := g.take(g.a, r)
	rolledBack := g.setTx(l, "rolled back")
	if err := rolledBack.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.wantData(r.Name, "", 0)

	tx := g.setTx(l, "one")
	g.wantData(r.Name, "", 0)
	g.release(g.a, r, l)
	g.mustStayTaken("while the transaction is open", r)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.wantData(r.Name, "one", l.token)

	next := g.take(g.a, r)
	late := g.begin("")
	if err := g.a.SetDataTx(t.Context(), late, l, []byte("late")); !errors.Is(err, postgres.ErrLeaseLost) {
		t.Errorf("after the lease: %v", err)
	}
	g.wantData(r.Name, "one", l.token)
	if err := g.setTx(next, "").Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.wantData(r.Name, "", 0)
	err := g.a.SetDataTx(t.Context(), g.begin(""), next, []byte(strings.Repeat("x", driver.MaxDataSize+1)))
	if !driver.IsPermanent(err) {
		t.Errorf("too much data: %v", err)
	}
}

// What a lease stores later is newer, in a transaction or not.
func TestDataInAndOutOfTransactions(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	r := lockRequest("a", time.Minute)
	l := g.take(g.a, r)
	set := func(number uint64, value string) {
		t.Helper()
		d := driver.Data{Value: []byte(value), Token: l.token, Number: number}
		if err := g.a.SetData(t.Context(), driver.DataSet{Hold: held(r, l), Data: d}); err != nil {
			t.Fatal(err)
		}
		g.wantData(r.Name, value, l.token)
	}
	for i := uint64(0); i < 6; i += 2 {
		if err := g.setTx(l, "in a transaction").Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.wantData(r.Name, "in a transaction", l.token)
		set(i+1, "without")
		set(i+2, "again")
	}
}

func TestReadersStoreNoDataInATransaction(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	r := lockRequest("a", time.Minute)
	r.Mode = driver.Shared
	l := g.take(g.a, r)
	if err := g.a.SetDataTx(t.Context(), g.begin(""), l, []byte("x")); !errors.Is(err, postgres.ErrLeaseLost) {
		t.Errorf("by a reader: %v", err)
	}
}

func TestDataInATransactionOfDatabaseSQL(t *testing.T) {
	t.Parallel()
	g := newGuardTest(t)
	db := stdlib.OpenDBFromPool(g.pool)
	defer db.Close()
	r := lockRequest("a", time.Minute)
	l := g.take(g.a, r)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := g.a.SetDataSQL(t.Context(), tx, l, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	g.wantData(r.Name, "one", l.token)
}
