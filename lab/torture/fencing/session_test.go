package fencing

import (
	"database/sql"
	"testing"
	"time"
)

// session is a connection to PostgreSQL that other connections can observe.
type session struct {
	*sql.Conn
	pid    int
	server database
}

func (d database) session(t *testing.T) session {
	t.Helper()
	c, err := d.Conn(t.Context())
	noErr(t, err)
	t.Cleanup(func() { c.Close() })
	s := session{Conn: c, server: d}
	noErr(t, c.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&s.pid))
	return s
}

func (s session) begin(t *testing.T) *sql.Tx {
	t.Helper()
	tx, err := s.BeginTx(t.Context(), nil)
	noErr(t, err)
	return tx
}

// blocked reports whether the session waits for another one's lock, according to the server.
func (s session) blocked(t *testing.T) (is bool) {
	t.Helper()
	noErr(t, s.server.QueryRowContext(t.Context(), "SELECT cardinality(pg_blocking_pids($1)) > 0", s.pid).Scan(&is))
	return is
}

// awaitBlocked waits until the session waits for a lock, or its statement is done.
func (s session) awaitBlocked(t *testing.T, done <-chan error) bool {
	t.Helper()
	for began := time.Now(); ; {
		if s.blocked(t) {
			return true
		}
		if len(done) > 0 {
			return false
		}
		if time.Since(began) > patience {
			t.Fatal("the statement neither ends nor waits")
		}
	}
}
