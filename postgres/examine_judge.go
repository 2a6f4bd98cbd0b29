package postgres

import (
	"fmt"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// settled is how an engine is set up, as far as it matters for what is found.
type settled struct {
	guard   bool // the crash guard is on
	polling bool
	longest time.Duration // the longest lease that it gives
	known   int           // the latest migration
	makes   bool          // the first change makes the tables
}

const (
	// oldest is the first version of PostgreSQL that will do.
	oldest = 13
	// longGuarded is for how long a transaction may guard and do nothing before it is told of.
	longGuarded = time.Minute
)

// findings are about one place.
type findings struct {
	place string
	all   []driver.Finding
}

func (f *findings) add(s driver.Severity, code, text, mend string) {
	f.all = append(f.all, driver.Finding{Severity: s, Code: code, Place: f.place, Text: text, Mend: mend})
}

// judge finds what endangers promises.
func (s *sight) judge(e settled) []driver.Finding {
	f := &findings{place: s.place.Name}
	if s.number/10000 < oldest {
		f.add(driver.Critical, "old-version",
			fmt.Sprintf("it has version %s, on which nothing here was tried: whether locks work is not known", s.place.Version),
			fmt.Sprintf("update it to %d or later", oldest))
	}
	s.usable(f, e)
	s.allowed(f)
	if s.pooled && !e.polling {
		f.add(driver.Warning, "pooler",
			"a pooler of connections stands in between, such as PgBouncer: if it is not in session mode, messages do not arrive, and those who wait notice late that it is their turn",
			"polling=on in the URL, or connect to the server itself")
	}
	if s.weak != nil {
		severity := driver.Note
		if s.weak.Exposed {
			severity = driver.Warning
		}
		f.add(severity, s.weak.Code, s.weak.Text, "sslmode=verify-full in the URL, with sslrootcert if the authority is one of your own")
	}
	s.safe(f, e)
	s.busy(f)
	return f.all
}

// usable finds what keeps anything from being granted.
func (s *sight) usable(f *findings, e settled) {
	switch {
	case !s.place.Votes:
		f.add(driver.Critical, "replica-as-node",
			"it is a standby, and refuses whatever changes anything: no lock can be had",
			"name the primary, or all servers and target_session_attrs=read-write in the URL")
	case s.readOnly:
		f.add(driver.Critical, "read-only",
			"transactions are read-only by default (default_transaction_read_only): no lock can be had",
			"ALTER ROLE … SET default_transaction_read_only = off for the user of the locks")
	}
	if s.isolation != "read committed" {
		f.add(driver.Critical, "isolation-level",
			fmt.Sprintf("transactions are %s by default: all requests are refused, since they would not see what others have just changed", s.isolation),
			"ALTER ROLE … SET default_transaction_isolation = 'read committed' for the user of the locks, or default_transaction_isolation=read%20committed in the URL")
	}
	switch {
	case !s.tables && e.makes && s.maker:
		f.add(driver.Note, "tables-missing",
			"the tables of locks are not in this database yet: the first lock makes them",
			"nothing; or look at the database and the schema in the URL, if locks have been used here before")
	case !s.tables:
		f.add(driver.Critical, "tables-missing",
			"the tables of locks are not in this database, and this user may not make them, or migrate=off forbids it: no lock can be had",
			"let a user who may make them take a lock without migrate=off, or run the SQL of its documentation; look at the database and the schema in the URL")
	case s.migration > 0 && s.migration < e.known && e.makes && s.maker:
		f.add(driver.Note, "tables-version",
			fmt.Sprintf("the tables are of version %d, and this program is for version %d: the next lock of this program brings them up to date", s.migration, e.known),
			"nothing, or update the other programs first")
	case s.migration > 0 && s.migration != e.known:
		f.add(driver.Critical, "tables-version",
			fmt.Sprintf("the tables are of version %d, and this program is for version %d", s.migration, e.known),
			"update what is older: this program, or the tables, by a user who may change them and opens the engine without migrate=off")
	}
}

// allowed finds what the user may not do.
func (s *sight) allowed(f *findings) {
	if len(s.unseen) == 0 && len(s.denied) > 0 && !s.changer {
		f.add(driver.Note, "rights-look", "the user may look, and may not lock. If it is meant for that, all is well",
			"nothing; or "+grants(s.denied))
		return
	}
	if len(s.denied) > 0 {
		f.add(driver.Critical, "rights",
			fmt.Sprintf("the user may not %s: no lock can be had", strings.Join(s.denied, ", ")),
			grants(s.denied))
	}
	if len(s.spare) > 0 {
		f.add(driver.Note, "rights-spare",
			fmt.Sprintf("the user may not %s: locks and semaphores work; setting latches, or the record of what is taken away by force, does not", strings.Join(s.spare, ", ")),
			grants(s.spare))
	}
}

// grants are statements that give rights.
func grants(rights []string) string {
	return "GRANT " + strings.Join(rights, " TO …; GRANT ") + " TO …"
}

// safe finds what a crash would forget.
func (s *sight) safe(f *findings, e settled) {
	if !e.guard {
		f.add(driver.Warning, "guard-off",
			"the crash guard is off (WithoutCrashGuard, guard=off): after a crash of the server, or a failover, others are granted what is still held",
			"leave guard=off away, unless locks only save work")
	}
	if !s.fsync || !s.fullPages {
		f.add(driver.Warning, "fsync-off",
			"fsync or full_page_writes is off: when the machine crashes, the database may be damaged, and with it what the crash guard and tokens rely on: two may then hold a lock, and tokens may go back",
			"fsync = on and full_page_writes = on in postgresql.conf: locks do not get slower by it, as they are not written to the disk")
	}
	if e.guard && s.longest > e.longest {
		f.add(driver.Note, "long-closing",
			fmt.Sprintf("somebody was granted a lease with a longest ttl of %v, and this program asks for %v at most: after a crash or a failover nothing is granted for the longer of the two",
				s.longest.Round(time.Millisecond), e.longest),
			"nothing; or, once no program uses the longer max_ttl any more, set longest in the tables meta and alive to the shorter one")
	}
}

// busy finds what makes locks slow, or keeps them taken.
func (s *sight) busy(f *findings) {
	for _, g := range s.guards {
		f.add(driver.Warning, "idle-guard",
			fmt.Sprintf("a transaction of process %d has guarded a lease for %v and does nothing now: nobody else is granted the lock before it ends", g.pid, g.age.Round(time.Second)),
			fmt.Sprintf("find out what its program waits for, or SELECT pg_terminate_backend(%d); let idle_in_transaction_session_timeout end such transactions", g.pid))
	}
	if !s.autovacuum {
		f.add(driver.Warning, "autovacuum-off",
			"autovacuum is off (or track_counts): the tables of locks, whose rows are replaced all the time, grow and get slower for ever",
			"autovacuum = on and track_counts = on in postgresql.conf")
	}
	if s.most > 0 && s.clients*10 >= s.most*9 {
		f.add(driver.Warning, "clients-nearly-full",
			fmt.Sprintf("%d of %d connections are in use: one more than that is refused, and with it locks and messages to those who wait", s.clients, s.most),
			"raise max_connections, make pools smaller, or put PgBouncer in between")
	}
}
