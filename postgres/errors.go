package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold-go/leasehold/driver"
)

var (
	errClosed = driver.Permanent(errors.New("the postgres engine has been closed: open another one"))
	errTokens = errors.New("postgres: somebody else has written into the rows of the name: release it by force")
	errLatch  = driver.Permanent(errors.New("postgres: somebody else has written into the latch: delete its row from the table latches"))
	errNoPool = errors.New("postgres engine: the pool is nil: make one with pgxpool.New")
	errBusy   = errors.New("postgres: the row of the lease is being changed by another transaction at this moment: try again")
)

// ClosedError is why no lease is granted for a while after the server has crashed, or another was promoted. One who joins the queue is told so in a
// [driver.ErrHeld]; a try fails with it alone, since nobody may hold the name.
type ClosedError struct {
	// Open is about when leases are granted again.
	Open time.Time
}

// Error implements error.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("no lease is granted until %s, because the server has crashed or was promoted a short while ago, and leases that still run are forgotten; "+
		"WithoutCrashGuard (guard=off) grants them at once", e.Open.Format(time.RFC3339))
}

// Codes of errors: see https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	undefinedColumn  = "42703"
	lockNotAvailable = "55P03"
	notFilled        = "55000" // the materialized view origin is to be filled yet
	noRows           = "P0002" // the table meta has no row
	wrongIsolation   = "LH001" // raised by key_lock
)

// mends are what to do about errors that come again if the request is repeated.
var mends = map[string]string{
	forbidden:       "give this user the rights that the documentation of the package lists",
	"42P01":         "the tables are not there: open the engine without migrate=off, or run postgres.SQL",
	"3F000":         "the schema is not there: open the engine without migrate=off, or run postgres.SQL",
	"42883":         "the functions are not there, or are of another version: open the engine without migrate=off, or run postgres.Migrate",
	undefinedColumn: "the tables are of another version: open the engine without migrate=off, or run postgres.Migrate",
	"3D000":         "make the database",
	"42704":         "if that is a parameter of the URL, mend its name: neither the engine nor the server knows it",
	"2200H":         "all tokens below 2^53 are used up: use another schema, once nobody compares its tokens with the old ones",
	wrongIsolation:  "set default_transaction_isolation to 'read committed' for this user or database",
	"22021":         "the database must have the encoding UTF8",
}

// noEffect marks an error of a request that had no effect, unless it is marked already: it may be a permanent one.
func noEffect(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	return driver.NoEffect(err)
}

// notSent is explain for a request that got no connection.
func notSent(err error) error { return noEffect(explain(err)) }

// explain makes an answer of the contract from an error of pgx. A statement that the server has answered with an error was rolled back; so was one
// that was never sent. All else is unknown, as is a connection that the server has ended: the transaction may have been committed before.
func explain(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	if failed, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return explainConnect(failed)
	}
	wrapped := fmt.Errorf("postgres: %w", err)
	failed, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok && pgconn.SafeToRetry(err):
		return driver.NoEffect(wrapped)
	case !ok:
		return wrapped
	case failed.Code == "25006", failed.Code == "0A000": // a standby refuses to write, and to read what is not logged
		return driver.NoEffect(fmt.Errorf("%w: the server is a standby: lead connections to the primary, as with target_session_attrs=read-write", wrapped))
	case failed.Code == notFilled, failed.Code == noRows:
		return driver.NoEffect(fmt.Errorf("%w: the tables are being restored from a dump, or a part of it is missing: restore all of it", wrapped))
	case mends[failed.Code] != "":
		return driver.Permanent(fmt.Errorf("%w: %s", wrapped, mends[failed.Code]))
	case strings.HasPrefix(failed.Code, "28"):
		return driver.Permanent(fmt.Errorf("%w: give the right user and password", wrapped))
	case failed.Severity == "ERROR" || failed.SeverityUnlocalized == "ERROR":
		return driver.NoEffect(wrapped)
	}
	return wrapped
}

// explainConnect is explain for a connection that was not made. Its text names the user and the database, and no password.
func explainConnect(failed *pgconn.ConnectError) error {
	err := fmt.Errorf("postgres: %w", attempts{failed})
	said, ok := errors.AsType[*pgconn.PgError](failed)
	switch {
	case ok && strings.HasPrefix(said.Code, "28"):
		return driver.Permanent(fmt.Errorf("%w: give the right user and password", err))
	case ok && mends[said.Code] != "":
		return driver.Permanent(fmt.Errorf("%w: %s", err, mends[said.Code]))
	}
	for sign, mend := range untrusted {
		if strings.Contains(failed.Error(), sign) {
			return driver.NoEffect(fmt.Errorf("%w: %s", err, mend))
		}
	}
	return driver.NoEffect(err)
}

// untrusted are what pgx and crypto/tls say of servers that have not proved who they are, and what to do. They have no types for it.
var untrusted = map[string]string{
	"server refused TLS connection": "a server on another machine must have TLS; turn it on there, or say sslmode=disable in the URL if nobody else can be on the way",
	"x509: ":                        "name the authority that has signed its certificate with sslrootcert=FILE, and the host as the certificate does",
	"require_auth check failed":     "passwords are for servers that were verified: say sslmode=verify-full, or have the server ask for scram-sha-256, or say require_auth in the URL",
}

// attempts is the error of a connection that was not made, on one line. pgx has a line for each attempt, with TLS and without.
type attempts struct{ error }

// Error implements error.
func (a attempts) Error() string {
	first, others, more := strings.Cut(a.error.Error(), "\n\t")
	if !more {
		return first
	}
	return first + " " + strings.Join(slices.Compact(strings.Split(others, "\n\t")), "; ")
}

// Unwrap returns the error of pgx.
func (a attempts) Unwrap() error { return a.error }
