package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
)

// Open makes an engine with a pool of its own, which [Engine.Close] closes. If the tables are missing, or are of an
// earlier version, the first request that changes something makes or updates them. Listings and examinations need no
// right to do so. The URL is
//
//	postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE]
//
// with the parameters of pgx and pgxpool, such as sslrootcert, connect_timeout or pool_max_conns, some settings of the
// session (application_name, options, statement_timeout), and these, each at most once:
//
//	schema        see WithSchema
//	max_ttl       see WithMaxTTL
//	polling=on    see WithPolling
//	guard=off     see WithoutCrashGuard
//	migrate=off   the tables are there already: see SQL
//
// Unless all hosts are this machine (localhost, its addresses, sockets), connections use TLS, and the certificate and
// the name of the server are verified: sslmode is verify-full. The URL may set sslmode to disable, require or, with
// sslrootcert, verify-ca. The environment cannot change sslmode. An unverified server on another machine is not sent a
// password in clear or as MD5, unless require_auth in the URL allows it.
//
// Users and passwords are percent-encoded. What the URL leaves out comes from the environment (PGHOST, PGUSER,
// PGPASSWORD, PGPASSFILE and so on), as in pgx. Files of passwords, services and certificates that other users could
// write or replace are refused.
//
// A server that does not answer is given up after connect_timeout, which is 2.5 s by default, and Open as a whole after
// 10 s unless ctx has a deadline.
//
// A URL that is not allowed is a [*URLError]. Other errors are marked as those of an engine. They are marked with
// [driver.Permanent] if trying again is pointless, for example because the password is wrong or the tables are of a
// newer version. No error shows a password.
func Open(ctx context.Context, rawURL string) (*Engine, error) {
	t, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if t.pool.ConnConfig.RuntimeParams["application_name"] == "" {
		t.pool.ConnConfig.RuntimeParams["application_name"] = "leasehold"
	}
	checkServers(t.pool.ConnConfig)
	ctx, cancel := withOpenTimeout(ctx)
	defer cancel()
	pool, err := pgxpool.NewWithConfig(ctx, t.pool)
	if err != nil {
		return nil, driver.NoEffect(fmt.Errorf("postgres engine: %w", err))
	}
	e, err := New(pool, t.opts...)
	if err == nil {
		err = e.checkTables(ctx, t.migrate)
	}
	if err != nil {
		closePool(pool)
		return nil, explainTimeout(ctx, err)
	}
	e.ownsPool, e.secretFiles = true, t.secretFiles
	return e, nil
}

const (
	// openTimeout limits Open if its context has no deadline.
	openTimeout = 10 * time.Second
	// connectTimeout is how long a connection may take to be made, unless the URL or the environment says otherwise.
	// Within the usual limit of a request, it leaves time for another host.
	connectTimeout = 2500 * time.Millisecond
)

// errOpenTimeout is the cause of a context that openTimeout has ended.
var errOpenTimeout = fmt.Errorf("the server has not answered within %v: find out whether it hangs, or open the "+
	"engine with a context that has a deadline", openTimeout)

func withOpenTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, openTimeout, errOpenTimeout)
}

// explainTimeout adds to an error of Open that its own limit has ended it.
func explainTimeout(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errOpenTimeout) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// New makes an engine that sends its requests over the caller's pool, which Close leaves open. The listening connection
// is made with the pool's configuration when somebody first waits. New sends nothing: the tables must be there, see
// [Migrate]. An option that is not allowed is an [*OptionError].
func New(pool *pgxpool.Pool, opts ...Option) (*Engine, error) {
	if pool == nil {
		return nil, errNoPool
	}
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	life, kill := context.WithCancel(context.Background())
	e := &Engine{config: c, pool: pool, ctx: life, cancel: kill}
	e.statements = statementsIn(c.schema)
	e.waiters.init()
	e.subscription.init(e)
	if canBatch(pool, c.polling) {
		e.batcher = newBatcher(e)
	}
	return e, nil
}
