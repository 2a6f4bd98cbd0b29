package postgres

import (
	"fmt"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// engineSettings are the settings of an engine that findings depend on.
type engineSettings struct {
	guard        bool // the crash guard is on
	polling      bool
	longestTTL   time.Duration // of the leases that the engine grants
	knownVersion int           // the latest migration
	canMigrate   bool          // the first change makes or updates the tables
}

const (
	// minVersion is the first version of PostgreSQL that is supported.
	minVersion = 13
	// idleGuardLimit is how long a transaction may guard a lease and be idle before it is reported.
	idleGuardLimit = time.Minute
)

// findings are findings about one server.
type findings struct {
	server string
	all    []driver.Finding
}

func (f *findings) add(s driver.Severity, code, text, fix string) {
	f.all = append(f.all, driver.Finding{Severity: s, Code: code, Server: f.server, Text: text, Fix: fix})
}

// judge finds what endangers the promises.
func (s *serverReport) judge(e engineSettings) []driver.Finding {
	f := &findings{server: s.server.Name}
	if s.number/10000 < minVersion {
		f.add(driver.Critical, "old-version",
			fmt.Sprintf("it has version %s, which is not tested: whether locks work is unknown", s.server.Version),
			fmt.Sprintf("update it to %d or later", minVersion))
	}
	s.judgeUsable(f, e)
	s.judgeRights(f)
	if s.pooled && !e.polling {
		f.add(driver.Warning, "pooler",
			"connections go through a pooler, such as PgBouncer: unless it is in session mode, messages do not "+
				"arrive, and waiters notice late that it is their turn",
			"polling=on in the URL, or connect to the server itself")
	}
	if s.weakness != nil {
		severity := driver.Note
		if s.weakness.Exposed {
			severity = driver.Warning
		}
		f.add(severity, s.weakness.Code, s.weakness.Text,
			"sslmode=verify-full in the URL, with sslrootcert if the authority is one of your own")
	}
	if s.passwordUnused {
		f.add(driver.Warning, "password-unused",
			"there is a password, but the server does not ask for one: whoever reaches it can act for the user, "+
				"and take and release all locks",
			"scram-sha-256 instead of trust in pg_hba.conf, or leave out the password")
	}
	s.judgeDurability(f, e)
	s.judgeLoad(f)
	return f.all
}

// judgeUsable finds what prevents all grants.
func (s *serverReport) judgeUsable(f *findings, e engineSettings) {
	switch {
	case !s.server.Votes:
		f.add(driver.Critical, "replica-as-node",
			"it is a standby, and refuses all changes: no lock can be granted",
			"name the primary, or all servers and target_session_attrs=read-write in the URL")
	case s.readOnly:
		f.add(driver.Critical, "read-only",
			"transactions are read-only by default (default_transaction_read_only): no lock can be granted",
			"ALTER ROLE … SET default_transaction_read_only = off for the user of the locks")
	}
	if s.isolation != "read committed" {
		f.add(driver.Critical, "isolation-level",
			fmt.Sprintf("transactions are %s by default: all requests are refused, since they would not see what "+
				"others have just changed", s.isolation),
			"ALTER ROLE … SET default_transaction_isolation = 'read committed' for the user of the locks, or "+
				"default_transaction_isolation=read%20committed in the URL")
	}
	migrates := e.canMigrate && s.canMigrate
	switch {
	case !s.tables && migrates:
		f.add(driver.Note, "tables-missing",
			"the tables of locks are not in this database yet: the first lock makes them",
			"nothing; or check the database and the schema in the URL, if locks have been used here before")
	case !s.tables:
		f.add(driver.Critical, "tables-missing",
			"the tables of locks are not in this database, and this user may not make them, or migrate=off forbids "+
				"it: no lock can be granted",
			"let a user who may make them take a lock without migrate=off, or run the SQL of the documentation; "+
				"check the database and the schema in the URL")
	case s.migration > 0 && s.migration < e.knownVersion && migrates:
		f.add(driver.Note, "tables-version",
			fmt.Sprintf("the tables are of version %d, and this program is for version %d: the next lock of this "+
				"program brings them up to date", s.migration, e.knownVersion),
			"nothing, or update the other programs first")
	case s.migration > 0 && s.migration != e.knownVersion:
		f.add(driver.Critical, "tables-version",
			fmt.Sprintf("the tables are of version %d, and this program is for version %d",
				s.migration, e.knownVersion),
			"update what is older: this program, or the tables, by a user who may change them and opens the engine "+
				"without migrate=off")
	}
}

// judgeRights finds which rights the user lacks.
func (s *serverReport) judgeRights(f *findings) {
	if len(s.missingToList) == 0 && len(s.missingToLock) > 0 && !s.canChange {
		f.add(driver.Note, "rights-look",
			"the user can list locks, but cannot take any. That is fine if it is intended",
			"nothing; or "+grantStatements(s.missingToLock))
		return
	}
	if len(s.missingToLock) > 0 {
		f.add(driver.Critical, "rights",
			fmt.Sprintf("the user may not %s: no lock can be granted", strings.Join(s.missingToLock, ", ")),
			grantStatements(s.missingToLock))
	}
	if len(s.missingOther) > 0 {
		f.add(driver.Note, "rights-spare",
			fmt.Sprintf("the user may not %s: locks and semaphores work, but setting latches or recording forced "+
				"releases does not", strings.Join(s.missingOther, ", ")),
			grantStatements(s.missingOther))
	}
}

// grantStatements are statements that grant rights.
func grantStatements(rights []string) string {
	return "GRANT " + strings.Join(rights, " TO …; GRANT ") + " TO …"
}

// judgeDurability finds what makes a crash dangerous.
func (s *serverReport) judgeDurability(f *findings, e engineSettings) {
	if !e.guard {
		f.add(driver.Warning, "guard-off",
			"the crash guard is off (WithoutCrashGuard, guard=off): after a crash of the server, or a failover, "+
				"others are granted what is still held",
			"remove guard=off, unless locks only save work")
	}
	if !s.fsync || !s.fullPages {
		f.add(driver.Warning, "fsync-off",
			"fsync or full_page_writes is off: when the machine crashes, the database may be damaged, and with it "+
				"what the crash guard and tokens rely on: two may then hold a lock, and tokens may go back",
			"fsync = on and full_page_writes = on in postgresql.conf: locks do not get slower, because they are not "+
				"written to the disk")
	}
	if e.guard && s.longestTTL > e.longestTTL {
		f.add(driver.Note, "long-closing",
			fmt.Sprintf("a program was granted leases with a longest ttl of %v, and this program asks for %v at most: "+
				"after a crash or a failover nothing is granted for the longer of the two",
				s.longestTTL.Round(time.Millisecond), e.longestTTL),
			"nothing; or, once no program uses the longer max_ttl any more, set longest in the tables meta and alive "+
				"to the shorter one")
	}
}

// judgeLoad finds what makes locks slow or keeps them taken.
func (s *serverReport) judgeLoad(f *findings) {
	for _, g := range s.guards {
		f.add(driver.Warning, "idle-guard",
			fmt.Sprintf("a transaction of process %d has guarded a lease for %v and is idle now: nobody else is "+
				"granted the lock before it ends", g.pid, g.age.Round(time.Second)),
			fmt.Sprintf("find out what its program waits for, or SELECT pg_terminate_backend(%d); let "+
				"idle_in_transaction_session_timeout end such transactions", g.pid))
	}
	if !s.autovacuum {
		f.add(driver.Warning, "autovacuum-off",
			"autovacuum is off (or track_counts): the tables of locks, whose rows are replaced all the time, grow "+
				"and get slower for ever",
			"autovacuum = on and track_counts = on in postgresql.conf")
	}
	if s.maxConnections > 0 && s.clients*10 >= s.maxConnections*9 {
		f.add(driver.Warning, "clients-nearly-full",
			fmt.Sprintf("%d of %d connections are in use: once all are, new ones are refused, and with them locks and "+
				"messages to waiters", s.clients, s.maxConnections),
			"raise max_connections, make pools smaller, or put PgBouncer in between")
	}
}
