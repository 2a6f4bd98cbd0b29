package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// sight is what was seen of a server.
type sight struct {
	place      driver.Place
	weak       *exposure.Weakness // of the connections to it
	number     int                // of the version, as in 150014
	readOnly   bool
	isolation  string
	fsync      bool
	fullPages  bool
	autovacuum bool
	clients    int
	most       int
	pooled     bool // the session is not the one that the server thinks
	tables     bool
	migration  int           // of the tables; 0 if it may not be read
	longest    time.Duration // for which nothing is granted after a loss
	unseen     []string      // rights without which nothing can be listed
	denied     []string      // those without which no lock can be had
	spare      []string      // and those without which some of the rest fails
	maker      bool          // the user may make the tables, or bring them up to date
	changer    bool          // the user may change some of what is held
	guards     []longGuard
}

// longGuard is a transaction that has been idle for long, and keeps a lock taken.
type longGuard struct {
	pid int
	age time.Duration
}

// look asks a server all that there is to know, on one connection. Of transactions that guard it tells those that are older than so long.
func look(ctx context.Context, c *pgx.Conn, schema string, long time.Duration) (*sight, error) {
	s := &sight{place: driver.Place{Name: placeName(c), RoundTrip: -1}, weak: weakness(c.Config())}
	for _, step := range []func(context.Context, *pgx.Conn, string) error{s.measure, s.settings, s.rights, s.facts} {
		if err := step(ctx, c, schema); err != nil {
			return nil, err
		}
	}
	return s, s.idle(ctx, c, schema, long)
}

// placeName is where a connection leads: an address, or the path of a socket, and the database.
func placeName(c *pgx.Conn) string {
	return c.PgConn().Conn().RemoteAddr().String() + "/" + c.Config().Database
}

// measure takes the time of small requests, and reads the clock.
func (s *sight) measure(ctx context.Context, c *pgx.Conn, _ string) error {
	for range 5 {
		var now time.Time
		began := time.Now()
		if err := c.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
			return err
		}
		if took := time.Since(began); s.place.RoundTrip < 0 || took < s.place.RoundTrip {
			s.place.RoundTrip, s.place.Ahead, s.place.HasClock = took, now.Sub(began.Add(took/2)), true
		}
	}
	return nil
}

// settings reads what every user may read.
func (s *sight) settings(ctx context.Context, c *pgx.Conn, _ string) error {
	var version string
	var standby bool
	var up int64
	var pid uint32
	err := c.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::integer, pg_is_in_recovery(),
	(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::numeric * 1000000::numeric)::bigint, current_setting('transaction_read_only') = 'on',
	current_setting('transaction_isolation'), current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
	current_setting('autovacuum') = 'on' AND current_setting('track_counts') = 'on',
	(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::integer, current_setting('max_connections')::integer, pg_backend_pid()`).
		Scan(&version, &s.number, &standby, &up, &s.readOnly, &s.isolation, &s.fsync, &s.fullPages, &s.autovacuum, &s.clients, &s.most, &pid)
	if err != nil {
		return err
	}
	s.place.Version, _, _ = strings.Cut(version, " ") // the rest says who has built it
	s.place.Uptime = time.Duration(up) * time.Microsecond
	s.place.Role, s.place.Votes = "primary", true
	if standby {
		s.place.Role, s.place.Votes = "standby", false
	}
	s.pooled = pid != c.PgConn().PID() // a pooler gives its clients numbers of its own
	return nil
}

// migrationOfHere is the one that makes the function here.
const migrationOfHere = 9

// facts reads what the tables say of themselves, as far as the user may.
func (s *sight) facts(ctx context.Context, c *pgx.Conn, schema string) error {
	if !s.tables || len(s.unseen) > 0 {
		return nil
	}
	var longest int64
	err := c.QueryRow(ctx, "SELECT version, (extract(epoch FROM longest)::numeric * 1000000::numeric)::bigint FROM "+quoted(schema)+".meta").Scan(&s.migration, &longest)
	if err != nil {
		return err
	}
	s.longest = time.Duration(longest) * time.Microsecond
	if s.migration < migrationOfHere {
		return nil // that it is too old is told elsewhere
	}
	if !s.place.Votes {
		s.place.Closed = s.longest // if it is promoted: what is not logged is not there, and may not even be read
		return nil
	}
	var closed int64
	err = c.QueryRow(ctx, `SELECT coalesce(max(CASE WHEN opens > clock_timestamp() THEN extract(epoch FROM opens - clock_timestamp())::numeric * 1000000::numeric ELSE 0::numeric END), $1)::bigint
	FROM `+quoted(schema)+`.alive WHERE id = `+quoted(schema)+`.here('`+quoted(schema)+`.origin')`, longest).Scan(&closed)
	s.place.Closed = time.Duration(closed) * time.Microsecond
	return err
}

// idle finds transactions that have done nothing for long, and keep locks taken all the time.
func (s *sight) idle(ctx context.Context, c *pgx.Conn, schema string, long time.Duration) error {
	rows, err := c.Query(ctx, `SELECT a.pid, (extract(epoch FROM clock_timestamp() - a.xact_start)::numeric * 1000000::numeric)::bigint FROM pg_stat_activity a
	WHERE a.state LIKE 'idle in transaction%' AND a.xact_start < clock_timestamp() - make_interval(secs => $1) AND EXISTS (SELECT FROM pg_locks l
		JOIN pg_class r ON r.oid = l.relation JOIN pg_namespace n ON n.oid = r.relnamespace
		WHERE l.pid = a.pid AND l.granted AND l.mode = 'RowShareLock' AND r.relname = 'holders' AND n.nspname = $2
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
	ORDER BY a.xact_start`, long.Seconds(), schema)
	if err != nil {
		return err
	}
	s.guards, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (g longGuard, err error) {
		var age int64
		err = row.Scan(&g.pid, &age)
		g.age = time.Duration(age) * time.Microsecond
		return g, err
	})
	return err
}

// rights finds out which rights are missing.
func (s *sight) rights(ctx context.Context, c *pgx.Conn, schema string) error {
	err := c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = $1 AND r.relname = 'meta'),
	coalesce((SELECT pg_has_role(r.relowner, 'USAGE') FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = $1 AND r.relname = 'meta'),
		(SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1), has_database_privilege(current_database(), 'CREATE')),
	coalesce((SELECT bool_or(has_table_privilege(r.oid, 'INSERT, UPDATE, DELETE')) FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
		WHERE n.nspname = $1 AND r.relname IN ('alive', 'holders', 'waiters')), false)`, schema).Scan(&s.tables, &s.maker, &s.changer)
	if err != nil || !s.tables {
		return err
	}
	if s.unseen, err = missing(ctx, c, schema, looking, 0); err != nil {
		return err
	}
	if s.denied, err = missing(ctx, c, schema, locking, 0); err != nil {
		return err
	}
	s.spare, err = missing(ctx, c, schema, latching|recording, locking)
	return err
}
