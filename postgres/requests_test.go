package postgres_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// lock asks for a lock by a new owner, for a minute.
func lock(name string) driver.Request {
	return driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: name},
		Owner:  rand.Text(),
		Size:   1,
		Weight: 1,
		TTL:    time.Minute,
		Tokens: 1,
		Holder: "test",
	}
}

func hold(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

// mustTake takes what must be free.
func mustTake(t testing.TB, e *postgres.Engine, r driver.Request) driver.Grant {
	t.Helper()
	g, err := e.Take(t.Context(), r)
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	return g
}

// mustRelease releases what must be held.
func mustRelease(t testing.TB, e *postgres.Engine, r driver.Request) {
	t.Helper()
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

// eventually waits for something that another process or goroutine does.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

// awaitTake waits until a take waits for a lock of a kind that pg_locks shows: "transactionid" for a row that another
// transaction has changed, "advisory" for a key.
func awaitTake(t *testing.T, pool *pgxpool.Pool, schema, kind string) {
	t.Helper()
	eventually(t, "the take to wait for a lock of the kind "+kind, func() bool {
		var n int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
			WHERE NOT granted AND locktype = $1 AND query LIKE '%' || $2 || '".take%'`, kind, schema).Scan(&n)
		return err == nil && n > 0
	})
}
