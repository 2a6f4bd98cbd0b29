package postgres

import (
	"context"
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
	errData   = driver.Permanent(errors.New("postgres: somebody else has written into the data of the lock: " +
		"delete its row from the table data"))
	errLatch = driver.Permanent(errors.New("postgres: somebody else has written into the latch: " +
		"delete its row from the table latches"))
	errNoPool = errors.New("postgres engine: the pool is nil: make one with pgxpool.New")
	errBusy   = errors.New("postgres: another transaction is changing the row of the lease at this moment: try again")
)

// ClosedError says that no lease is granted for a while, because the server has crashed or a standby was promoted. A
// request that joins the queue gets it as a [driver.ErrHeld]. A try gets it alone, because possibly nobody holds the
// name.
type ClosedError = driver.GrantsClosedError

// newClosedError returns the error of a server on which grants open after that time.
func newClosedError(closedFor time.Duration) *ClosedError {
	return &ClosedError{
		Open:   time.Now().Add(closedFor),
		Reason: "the server has crashed or was promoted, and may have forgotten leases that still run",
		Fix:    "guard=off in the URL (WithoutCrashGuard) turns this off, where a lock only saves work",
	}
}

// SQLSTATE codes, see https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	undefinedColumn  = "42703"
	lockNotAvailable = "55P03"
	notFilled        = "55000" // the materialized view origin has not been filled yet
	noRows           = "P0002" // the table meta has no row
	wrongIsolation   = "LH001" // raised by key_lock
)

// fixes say what to do about errors that come again if the request is repeated.
var fixes = map[string]string{
	insufficientRights: "give this user the rights that the documentation of the package lists",
	"42P01":            "the tables are not there: open the engine without migrate=off, or run postgres.SQL",
	"3F000":            "the schema is not there: open the engine without migrate=off, or run postgres.SQL",
	"42883": "the functions are not there, or are of another version: open the engine without " +
		"migrate=off, or run postgres.Migrate",
	undefinedColumn: "the tables are of another version: open the engine without migrate=off, or run " +
		"postgres.Migrate",
	"3D000": "make the database",
	"42704": "if that is a parameter of the URL, fix its name: neither the engine nor the server knows it",
	"2200H": "all tokens below 2^53 are used up: use another schema, once nobody compares its tokens with " +
		"the old ones",
	wrongIsolation: "set default_transaction_isolation to 'read committed' for this user or database",
	"22021":        "the database must have the encoding UTF8",
}

// noEffect marks an error of a request that had no effect. It keeps an existing mark, which may be that of a permanent
// error.
func noEffect(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	return driver.NoEffect(err)
}

// explainNotSent is explain for a request that got no connection.
func explainNotSent(err error) error { return noEffect(explain(err)) }

// explain turns an error of pgx into an error of the driver contract. A statement that the server has answered with an
// error was rolled back, and one that was never sent had no effect. All other outcomes are unknown, even if the server
// has ended the connection: the transaction may have been committed before.
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
	case failed.Code == "25006", failed.Code == "0A000": // a standby refuses to write, and to read unlogged tables
		return driver.NoEffect(fmt.Errorf("%w: the server is a standby: connect to the primary, for example with "+
			"target_session_attrs=read-write", wrapped))
	case failed.Code == notFilled, failed.Code == noRows:
		return driver.NoEffect(fmt.Errorf("%w: the tables are being restored from a dump, or a part of it is missing: "+
			"restore all of it", wrapped))
	case fixes[failed.Code] != "":
		return driver.Permanent(fmt.Errorf("%w: %s", wrapped, fixes[failed.Code]))
	case strings.HasPrefix(failed.Code, "28"):
		return driver.Permanent(fmt.Errorf("%w: give the right user and password", wrapped))
	case failed.Severity == "ERROR" || failed.SeverityUnlocalized == "ERROR":
		return driver.NoEffect(wrapped)
	}
	return wrapped
}

// explainConnect is explain for a connection that was not made. Its text names the user and the database, and no
// password.
func explainConnect(failed *pgconn.ConnectError) error {
	err := fmt.Errorf("postgres: %w", connectError{failed})
	answered, ok := errors.AsType[*pgconn.PgError](failed)
	switch {
	case ok && strings.HasPrefix(answered.Code, "28"):
		return driver.Permanent(fmt.Errorf("%w: give the right user and password", err))
	case ok && fixes[answered.Code] != "":
		return driver.Permanent(fmt.Errorf("%w: %s", err, fixes[answered.Code]))
	}
	if other, is := errors.AsType[*otherServerError](failed); is {
		return driver.NoEffect(fmt.Errorf("postgres: %w", other))
	}
	for sign, fix := range untrustedFixes {
		if strings.Contains(failed.Error(), sign) {
			return driver.NoEffect(fmt.Errorf("%w: %s", err, fix))
		}
	}
	if errors.Is(failed, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: find out whether a PostgreSQL server listens at this host and port, and whether it hangs",
			err)
	}
	return driver.NoEffect(err)
}

// untrustedFixes say what to do about servers that have not proved their identity. The keys are texts of pgx and
// crypto/tls, which have no types for these errors.
var untrustedFixes = map[string]string{
	"server refused TLS connection": "the server offers no TLS to this client: turn it on there, or set " +
		"sslmode=disable in the URL if nobody else can read what is sent",
	"x509: ": "give the authority that has signed its certificate as sslrootcert=FILE, and name the host as the " +
		"certificate does",
	"require_auth check failed": "passwords are sent to verified servers only: set sslmode=verify-full, or have " +
		"the server ask for scram-sha-256, or set require_auth in the URL",
}

// connectError is the error of a connection that was not made, on one line. pgx has one line for each attempt, with TLS
// and without.
type connectError struct{ error }

// Error implements error.
func (a connectError) Error() string {
	first, others, more := strings.Cut(a.error.Error(), "\n\t")
	if !more {
		return first
	}
	return first + " " + strings.Join(slices.Compact(strings.Split(others, "\n\t")), "; ")
}

// Unwrap returns the error of pgx.
func (a connectError) Unwrap() error { return a.error }
