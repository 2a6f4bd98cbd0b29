package postgres_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// However many wait, an engine uses the connections of its pool and one more. What the server shows to others about its
// sessions contains neither owners nor passwords.
func TestConnectionsOfManyWaiters(t *testing.T) {
	t.Parallel()
	_, schema := newTables(t)
	const maxConns = 3
	e := open(t, poolAt(t, fmt.Sprintf("%s&application_name=%s&pool_max_conns=%d", shared(t).URL(), schema, maxConns)),
		schema)
	held := lock("name")
	if _, err := e.Take(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	owners := []string{held.Owner}
	var done []<-chan error
	for range 100 {
		r := mustJoin(t, e, lock("name"))
		owners = append(owners, r.Owner)
		done = append(done, startWait(t, e, r))
	}
	text, err := shared(t).Ask("SELECT count(*) || ' ' || string_agg(query, ' ') FROM pg_stat_activity WHERE " +
		"application_name = '" + schema + "'")
	if err != nil {
		t.Fatal(err)
	}
	count, queries, _ := strings.Cut(text, " ")
	if n, err := strconv.Atoi(count); err != nil || n < 1 || n > maxConns+1 {
		t.Errorf("an engine with %d waiters has %s connections, %v; want at most %d", len(done), count, err, maxConns+1)
	}
	for _, owner := range owners {
		if strings.Contains(queries, owner) {
			t.Errorf("pg_stat_activity shows an owner: %s", queries)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range done {
		if err := <-d; err == nil {
			t.Error("a waiter was granted what another holds")
		}
	}
}

// Another program takes all connections that the server has left. Holders go on renewing and release, over the
// connections that they have. New callers get an error in time, and do not hold.
func TestServerWithoutConnections(t *testing.T) {
	t.Parallel()
	s := postgresserver.ForTest(t,
		postgresserver.Config{Settings: []string{"max_connections=12", "superuser_reserved_connections=3"}})
	if _, err := s.Ask("CREATE ROLE locker LOGIN; CREATE SCHEMA leasehold AUTHORIZATION locker"); err != nil {
		t.Fatal(err)
	}
	url := s.URL() + "&user=locker"
	e, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	held := lock("name")
	held.TTL = time.Minute
	if _, err := e.Take(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	full := false
	for range 20 {
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			full = strings.Contains(err.Error(), "53300") || strings.Contains(err.Error(), "too many") ||
				strings.Contains(err.Error(), "reserved")
			if !full {
				t.Fatal(err)
			}
			break
		}
		t.Cleanup(func() { _ = c.Close(t.Context()) })
	}
	if !full {
		t.Fatal("there are connections left")
	}
	for range 3 {
		expectRenewal(t, e, held, nil)
	}
	if _, err := e.Take(t.Context(), lock("name")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take of what is held: %v", err)
	}
	waiter := lock("name")
	waiter.Join = true
	// it may need a listening connection, and there is none
	if _, err := e.Take(t.Context(), waiter); err == nil || driver.IsPermanent(err) {
		t.Errorf("Take with Join: %v", err)
	}
	began := time.Now()
	other, err := postgres.Open(t.Context(), url)
	if err == nil {
		_, err = other.Take(t.Context(), lock("other"))
		_ = other.Close()
	}
	if err == nil || driver.IsNo(err) || driver.IsPermanent(err) || !driver.HadNoEffect(err) ||
		time.Since(began) > 10*time.Second {
		t.Errorf("a new caller gets %v after %v (no effect %v, permanent %v)", err, time.Since(began),
			driver.HadNoEffect(err), driver.IsPermanent(err))
	}
	if err := e.Release(t.Context(), driver.Release{Hold: holdOf(held)}); err != nil {
		t.Error(err)
	}
}
