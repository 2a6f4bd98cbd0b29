package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// serverReport is what was read from a server.
type serverReport struct {
	server         driver.Server
	weakness       *exposure.Weakness // of the connections to it
	number         int                // the version, as in 150014
	readOnly       bool
	isolation      string
	fsync          bool
	fullPages      bool
	autovacuum     bool
	clients        int
	maxConnections int
	passwordUnused bool // the server lets the user in without asking for the password that there is
	pooled         bool // the session is not the one that the server knows: a pooler is in between
	tables         bool
	migration      int           // version of the tables; 0 if it may not be read
	longestTTL     time.Duration // how long nothing is granted after leases were lost
	missingToList  []string      // rights without which nothing can be listed
	missingToLock  []string      // rights without which no lock can be taken
	missingOther   []string      // rights without which some other requests fail
	canMigrate     bool          // the user may make or update the tables
	canChange      bool          // the user may change some of the locks
	guards         []idleGuard
}

// idleGuard is a transaction that has been idle for long and keeps a lock taken.
type idleGuard struct {
	pid int
	age time.Duration
}

// askServer reads a report from a server over one connection. It reports transactions that guard a lease if they are
// older than long.
func askServer(ctx context.Context, c *pgx.Conn, schema string, long time.Duration) (*serverReport, error) {
	s := &serverReport{server: driver.Server{Name: serverName(c), RoundTrip: -1}, weakness: findWeakness(c.Config())}
	type step = func(ctx context.Context, c *pgx.Conn, schema string) error
	for _, step := range []step{s.measure, s.readSettings, s.readRights, s.readMeta} {
		if err := step(ctx, c, schema); err != nil {
			return nil, err
		}
	}
	return s, s.findIdleGuards(ctx, c, schema, long)
}

// serverName is where a connection leads: an address or the path of a socket, and the database.
func serverName(c *pgx.Conn) string {
	return c.PgConn().Conn().RemoteAddr().String() + "/" + c.Config().Database
}

// measure times small requests and reads the clock.
func (s *serverReport) measure(ctx context.Context, c *pgx.Conn, _ string) error {
	for range 5 {
		var now time.Time
		began := time.Now()
		if err := c.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
			return err
		}
		if took := time.Since(began); s.server.RoundTrip < 0 || took < s.server.RoundTrip {
			s.server.RoundTrip, s.server.Ahead, s.server.HasClock = took, now.Sub(began.Add(took/2)), true
		}
	}
	return nil
}

// readSettings reads what every user may read.
func (s *serverReport) readSettings(ctx context.Context, c *pgx.Conn, _ string) error {
	var version string
	var standby bool
	var up int64
	var pid uint32
	err := c.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::integer,
	pg_is_in_recovery(),
	(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::numeric * 1000000::numeric)::bigint,
	current_setting('transaction_read_only') = 'on', current_setting('transaction_isolation'),
	current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
	current_setting('autovacuum') = 'on' AND current_setting('track_counts') = 'on',
	(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::integer,
	current_setting('max_connections')::integer, pg_backend_pid()`).
		Scan(&version, &s.number, &standby, &up, &s.readOnly, &s.isolation, &s.fsync, &s.fullPages, &s.autovacuum,
			&s.clients, &s.maxConnections, &pid)
	if err != nil {
		return err
	}
	s.server.Version, _, _ = strings.Cut(version, " ") // the rest says who has built it
	s.server.Uptime = time.Duration(up) * time.Microsecond
	s.server.Role, s.server.Votes = "primary", true
	if standby {
		s.server.Role, s.server.Votes = "standby", false
	}
	s.pooled = pid != c.PgConn().PID() // a pooler gives its clients process numbers of its own
	s.checkPassword(ctx, c)
	return nil
}

// systemUserVersion is the first version of PostgreSQL that says how a user was authenticated.
const systemUserVersion = 16

// checkPassword finds out whether the server has let the user in without authentication although there is a password.
// It is not known of older servers, or behind a pooler. An error says nothing about that, and the rest is examined.
func (s *serverReport) checkPassword(ctx context.Context, c *pgx.Conn) {
	if s.number/10000 >= systemUserVersion && !s.pooled && c.Config().Password != "" {
		_ = c.QueryRow(ctx, "SELECT system_user IS NULL").Scan(&s.passwordUnused)
	}
}

// migrationOfHere is the migration that makes the SQL function here.
const migrationOfHere = 9

// readMeta reads the facts that the tables keep about themselves, as far as the user may.
func (s *serverReport) readMeta(ctx context.Context, c *pgx.Conn, schema string) error {
	if !s.tables || len(s.missingToList) > 0 {
		return nil
	}
	var longest int64
	err := c.QueryRow(ctx, "SELECT version, (extract(epoch FROM longest)::numeric * 1000000::numeric)::bigint FROM "+
		quoted(schema)+".meta").Scan(&s.migration, &longest)
	if err != nil {
		return err
	}
	s.longestTTL = time.Duration(longest) * time.Microsecond
	if s.migration < migrationOfHere {
		return nil // judgeUsable reports that the version is too old
	}
	if !s.server.Votes {
		s.server.Closed = s.longestTTL // if it is promoted; a standby cannot read unlogged tables
		return nil
	}
	var closed int64
	err = c.QueryRow(ctx, inSchema(schema, closedForStatement), longest).Scan(&closed)
	s.server.Closed = time.Duration(closed) * time.Microsecond
	return err
}

// findIdleGuards finds transactions that have been idle for long and keep locks taken.
func (s *serverReport) findIdleGuards(ctx context.Context, c *pgx.Conn, schema string, long time.Duration) error {
	rows, err := c.Query(ctx, `SELECT a.pid,
		(extract(epoch FROM clock_timestamp() - a.xact_start)::numeric * 1000000::numeric)::bigint
	FROM pg_stat_activity a
	WHERE a.state LIKE 'idle in transaction%' AND a.xact_start < clock_timestamp() - make_interval(secs => $1)
		AND EXISTS (SELECT FROM pg_locks l JOIN pg_class r ON r.oid = l.relation
			JOIN pg_namespace n ON n.oid = r.relnamespace
		WHERE l.pid = a.pid AND l.granted AND l.mode = 'RowShareLock' AND r.relname = 'holders' AND n.nspname = $2
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
	ORDER BY a.xact_start`, long.Seconds(), schema)
	if err != nil {
		return err
	}
	s.guards, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (g idleGuard, err error) {
		var age int64
		err = row.Scan(&g.pid, &age)
		g.age = time.Duration(age) * time.Microsecond
		return g, err
	})
	return err
}

// readRights finds out which rights are missing.
func (s *serverReport) readRights(ctx context.Context, c *pgx.Conn, schema string) error {
	err := c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
		WHERE n.nspname = $1 AND r.relname = 'meta'),
	coalesce(
		(SELECT pg_has_role(r.relowner, 'USAGE') FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
			WHERE n.nspname = $1 AND r.relname = 'meta'),
		(SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1),
		has_database_privilege(current_database(), 'CREATE')),
	coalesce((SELECT bool_or(has_table_privilege(r.oid, 'INSERT, UPDATE, DELETE'))
		FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
		WHERE n.nspname = $1 AND r.relname IN ('alive', 'holders', 'waiters')), false)`, schema).
		Scan(&s.tables, &s.canMigrate, &s.canChange)
	if err != nil || !s.tables {
		return err
	}
	if s.missingToList, err = missingRights(ctx, c, schema, toLook, 0); err != nil {
		return err
	}
	if s.missingToLock, err = missingRights(ctx, c, schema, toLock, 0); err != nil {
		return err
	}
	s.missingOther, err = missingRights(ctx, c, schema, toLatch|toRecord, toLock)
	return err
}
