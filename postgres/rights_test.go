package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// right is a right that the documentation grants to a user.
type right struct {
	what string // as in "SELECT (name)", or a role
	on   string // as in "SEQUENCE leasehold.tokens"; empty for a role
	to   string
}

func (r right) String() string {
	if r.on == "" {
		return r.what
	}
	return r.what + " ON " + r.on
}

func (r right) grant() string  { return "GRANT " + r.String() + " TO " + r.to }
func (r right) revoke() string { return "REVOKE " + r.String() + " FROM " + r.to }

// rights are the rights that the documentation grants for a kind of work.
type rights struct {
	user   string
	create string
	all    []right
}

var (
	kindOfWork = regexp.MustCompile("(?s)\\*\\*(\\w+)[:.]+\\*\\*[^\n]*\n\n```sql\n(.*?)```")
	granted    = regexp.MustCompile(`^GRANT (.+?)(?: ON (.+))? TO (\w+)$`)
	oneOfMany  = regexp.MustCompile(`(\w+)(?: \(([^)]*)\))?`)
)

// documentedRights reads the rights from the documentation, for a schema of a test whose users have names of their own.
func documentedRights(t *testing.T, schema string) map[string]rights {
	t.Helper()
	page, err := os.ReadFile("../docs/engines/postgres.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## The smallest rights\n")
	section, _, _ = strings.Cut(section, "\n## ")
	all := map[string]rights{}
	for _, found := range kindOfWork.FindAllStringSubmatch(section, -1) {
		text := strings.NewReplacer("leasehold", schema, "DATABASE shop", "DATABASE postgres", "shop",
			schema+"_user").Replace(found[2])
		var w rights
		for statement := range strings.SplitSeq(strings.TrimSpace(text), ";\n") {
			statement = strings.TrimSuffix(statement, ";")
			if strings.HasPrefix(statement, "CREATE ROLE ") {
				w.create, w.user = statement, strings.Fields(statement)[2]
				continue
			}
			g := granted.FindStringSubmatch(statement)
			if g == nil || g[3] != w.user {
				t.Fatalf("not understood: %s", statement)
			}
			sort, objects, typed := strings.Cut(g[2], " ")
			if !typed || sort != strings.ToUpper(sort) {
				sort, objects = "", g[2]
			}
			for object := range strings.SplitSeq(objects, ", ") {
				for _, one := range oneOfMany.FindAllStringSubmatch(g[1], -1) {
					on := strings.TrimSpace(sort + " " + object)
					if one[2] == "" {
						w.all = append(w.all, right{one[1], on, w.user})
						continue
					}
					for column := range strings.SplitSeq(one[2], ", ") {
						w.all = append(w.all, right{one[1] + " (" + column + ")", on, w.user})
					}
				}
			}
		}
		all[found[1]] = w
	}
	if len(all) != 4 {
		t.Fatalf("the documentation has the rights for %d kinds of work: %v", len(all), all)
	}
	return all
}

// rightsTest has tables, and users with the documented rights.
type rightsTest struct {
	*testing.T
	pool   *pgxpool.Pool // of a superuser
	schema string
	roles  map[string]rights
	runs   int
}

// newRightsTest makes the tables and the users.
func newRightsTest(t *testing.T, kinds ...string) *rightsTest {
	t.Helper()
	r := &rightsTest{T: t}
	r.pool, r.schema = newTables(t)
	r.roles = documentedRights(t, r.schema)
	t.Cleanup(func() {
		for _, kind := range slices.Backward(kinds) {
			user := r.roles[kind].user
			// the server ends soon
			_, _ = r.pool.Exec(context.Background(), "DROP OWNED BY "+user+"; DROP ROLE "+user,
				pgx.QueryExecModeSimpleProtocol)
		}
	})
	for _, kind := range kinds {
		r.exec(r.roles[kind].create)
		for _, one := range r.roles[kind].all {
			r.exec(one.grant())
		}
	}
	return r
}

func (r *rightsTest) exec(query string) {
	r.Helper()
	if _, err := r.pool.Exec(r.Context(), query, pgx.QueryExecModeSimpleProtocol); err != nil {
		r.Fatalf("%s: %v", query, err)
	}
}

// url is the URL for a user.
func (r *rightsTest) url(user string) string {
	return "postgres://" + user + "@" + shared(r).Addr() + "/postgres?sslmode=disable&guard=off&schema=" + r.schema
}

// open opens an engine as a user, which is closed with the test.
func (r *rightsTest) open(user string) (*postgres.Engine, error) {
	// Each engine is the first to ask for such a long lease, which must be written down.
	r.runs++
	e, err := postgres.Open(r.Context(), fmt.Sprintf("%s&max_ttl=%ds", r.url(user), 60+r.runs))
	if err == nil {
		r.Cleanup(func() { _ = e.Close() }) // it returns nil
	}
	return e, err
}

// checkNeedsAll checks that each right is needed: without it the work fails, and the error says which right is missing.
func (r *rightsTest) checkNeedsAll(kind string, work func(user string) error) {
	r.Helper()
	w := r.roles[kind]
	if err := work(w.user); err != nil {
		r.Fatalf("with all documented rights: %v", err)
	}
	for _, one := range w.all {
		r.exec(one.revoke())
		err := work(w.user)
		lacks, typed := errors.AsType[*postgres.RightsError](err)
		switch {
		case err == nil:
			r.Errorf("without %v all works: it is not needed", one)
		case !typed || lacks.User != w.user:
			r.Errorf("without %v: %v", one, err)
		case one.on != "":
			word, _, _ := strings.Cut(one.what, " ")
			named := func(missing string) bool {
				return strings.HasPrefix(missing, word) && strings.HasSuffix(missing, " ON "+one.on)
			}
			if !slices.ContainsFunc(lacks.Missing, named) {
				r.Errorf("without %v: %v", one, err)
			}
			if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "GRANT ") {
				r.Errorf("without %v: the error does not say what to do: %v", one, err)
			}
		}
		r.exec(one.grant())
	}
	if err := work(w.user); err != nil {
		r.Errorf("with all rights again: %v", err)
	}
}

// checkRefused checks that a user is refused everything and told what is missing, and that direct statements are
// refused, too.
func (r *rightsTest) checkRefused(user string, deeds map[string]func(e *postgres.Engine) error, statements ...string) {
	r.Helper()
	e, err := r.open(user)
	if err != nil {
		r.Fatal(err)
	}
	for name, do := range deeds {
		err := do(e)
		if lacks, typed := errors.AsType[*postgres.RightsError](err); !typed || !driver.IsPermanent(err) ||
			len(lacks.Missing) == 0 || !strings.Contains(err.Error(), "GRANT ") {
			r.Errorf("%s by %s: %v", name, user, err)
		}
	}
	c, err := pgx.Connect(r.Context(), r.url(user)[:strings.Index(r.url(user), "&")])
	if err != nil {
		r.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, statement := range statements {
		statement = strings.ReplaceAll(statement, "leasehold.", r.schema+".")
		_, err := c.Exec(r.Context(), statement)
		if answered, ok := errors.AsType[*pgconn.PgError](err); !ok || answered.Code != "42501" {
			r.Errorf("%s may %s: %v", user, statement, err)
		}
	}
}

// held is a lock that somebody holds and another owner waits for.
func (r *rightsTest) held(name string) (owner *postgres.Engine, l driver.Request, g driver.Grant) {
	r.Helper()
	owner = open(r, r.pool, r.schema, postgres.WithMaxTTL(time.Hour))
	l = lockFor(name, time.Hour)
	g, err := owner.Take(r.Context(), l)
	if err != nil {
		r.Fatal(err)
	}
	waits := lockFor(name, time.Minute)
	waits.Join = true
	if _, err := owner.Take(r.Context(), waits); !errors.Is(err, driver.ErrHeld) {
		r.Fatal(err)
	}
	return owner, l, g
}

func TestDocumentedRightsToLook(t *testing.T) {
	t.Parallel()
	r := newRightsTest(t, "Look")
	owner, l, g := r.held("a")
	if _, err := owner.TrySet(t.Context(), driver.LatchSet{Name: "l", ID: "1", Count: 1,
		TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	r.checkNeedsAll("Look", func(user string) error {
		e, err := r.open(user)
		if err != nil {
			return err
		}
		defer e.Close()
		page, err := e.List(t.Context(), driver.Query{Queue: true})
		if err != nil {
			return err
		}
		if len(page) != 2 || len(page[0].Holders) != 1 || page[0].Holders[0].Token != g.Token ||
			len(page[0].Queue) != 1 || page[1].Latch == nil {
			t.Errorf("the listing is %+v", page)
		}
		if _, err := e.LatchState(t.Context(), "l"); err != nil {
			return err
		}
		if _, err := e.Data(t.Context(), "a"); err != nil {
			return err
		}
		if err := e.Leaks(t.Context(), driver.Query{}, func(driver.Leak) bool { return true }); err != nil {
			return err
		}
		if _, err := e.Records(t.Context(), 1); err != nil {
			return err
		}
		x, err := e.Examine(t.Context())
		for _, f := range x.Findings {
			if f.Code == "rights" {
				return driver.Permanent(&postgres.RightsError{User: user, Missing: missingIn(f.Fix)})
			}
		}
		return err
	})
	r.checkRefused(r.roles["Look"].user, map[string]func(e *postgres.Engine) error{
		"Take": func(e *postgres.Engine) error {
			_, err := e.Take(t.Context(), lockFor("b", time.Minute))
			return err
		},
		"take over": func(e *postgres.Engine) error { _, err := e.Take(t.Context(), l); return err },
		"TakeAll": func(e *postgres.Engine) error {
			_, err := e.TakeAll(t.Context(), []driver.Request{lockFor("b", time.Minute), lockFor("c", time.Minute)})
			return err
		},
		"Renew": func(e *postgres.Engine) error { return renewal(t.Context(), e, l) },
		"Release": func(e *postgres.Engine) error {
			return e.Release(t.Context(), driver.Release{Hold: holdOf(l)})
		},
		"Downgrade":    func(e *postgres.Engine) error { return e.Downgrade(t.Context(), holdOf(l)) },
		"ForceRelease": func(e *postgres.Engine) error { return e.ForceRelease(t.Context(), l.Key, g.Token) },
		"Sweep": func(e *postgres.Engine) error {
			return e.Sweep(t.Context(), driver.Leak{Key: l.Key, Sort: driver.Remains, Mark: "1"})
		},
		"TrySet": func(e *postgres.Engine) error {
			_, err := e.TrySet(t.Context(), driver.LatchSet{Name: "m", ID: "1", Count: 1, TTL: time.Minute})
			return err
		},
		"CountDown": func(e *postgres.Engine) error {
			_, err := e.CountDown(t.Context(), driver.LatchDown{Name: "l", ID: "1", TTL: time.Minute})
			return err
		},
		"Record": func(e *postgres.Engine) error { return e.Record(t.Context(), removal()) },
	},
		"SELECT owner FROM leasehold.holders", "SELECT * FROM leasehold.holders", "SELECT owner FROM leasehold.waiters",
		"SELECT ticket FROM leasehold.waiters",
		"SELECT set_id FROM leasehold.latches", "SELECT name FROM leasehold.holders FOR KEY SHARE",
		"DO $$ BEGIN LOCK TABLE leasehold.holders; END $$", "TRUNCATE leasehold.holders",
		"UPDATE leasehold.holders SET expires = '-infinity'", "DELETE FROM leasehold.holders",
		"DELETE FROM leasehold.waiters", "DELETE FROM leasehold.alive",
		"UPDATE leasehold.alive SET opens = 'infinity'", "UPDATE leasehold.meta SET longest = '0'",
		"INSERT INTO leasehold.latches VALUES ('x', 1, 1, 'x', now())",
		"SELECT nextval('leasehold.tokens')", "SELECT setval('leasehold.tokens', 1)", "SELECT leasehold.intact('9h')",
		"SELECT leasehold.sweep()",
		"REFRESH MATERIALIZED VIEW leasehold.origin", "CREATE TABLE leasehold.mine (a integer)",
		"DROP TABLE leasehold.holders",
	)
	e, err := r.open(r.roles["Look"].user)
	if err != nil {
		t.Fatal(err)
	}
	mustExamine(t, e, "note rights-look", "warning guard-off")
	if err := renewal(t.Context(), owner, l); err != nil {
		t.Errorf("the holder has lost the lock: %v", err)
	}
}

// missingIn are the rights that the fix of a finding grants.
func missingIn(fix string) (all []string) {
	for grant := range strings.SplitSeq(fix, "; ") {
		all = append(all, strings.TrimSuffix(strings.TrimPrefix(grant, "GRANT "), " TO …"))
	}
	return all
}

func TestDocumentedRightsToLock(t *testing.T) {
	t.Parallel()
	r := newRightsTest(t, "Lock")
	r.checkNeedsAll("Lock", r.locks)
	r.checkRefused(r.roles["Lock"].user, map[string]func(e *postgres.Engine) error{
		"Record":  func(e *postgres.Engine) error { return e.Record(t.Context(), removal()) },
		"Records": func(e *postgres.Engine) error { _, err := e.Records(t.Context(), 1); return err },
	},
		"SELECT * FROM leasehold.removals", "DELETE FROM leasehold.removals", "DELETE FROM leasehold.meta",
		"INSERT INTO leasehold.meta VALUES (2, 2, '0')",
		"DELETE FROM leasehold.alive", "TRUNCATE leasehold.holders", "UPDATE leasehold.latch_downs SET id = ''",
		"REFRESH MATERIALIZED VIEW leasehold.origin",
		"CREATE TABLE leasehold.mine (a integer)", "DROP TABLE leasehold.holders",
		"ALTER TABLE leasehold.holders ADD COLUMN a integer",
	)
	e, err := r.open(r.roles["Lock"].user)
	if err != nil {
		t.Fatal(err)
	}
	mustExamine(t, e, "note rights-spare", "warning guard-off")
}

// locks does all that programs do, after a crash of the server.
func (r *rightsTest) locks(user string) error {
	r.exec("DELETE FROM " + r.schema + ".alive") // as a crash does
	e, err := r.open(user)
	if err != nil {
		return err
	}
	defer e.Close()
	ctx, name := r.Context(), fmt.Sprint("run ", r.runs)
	if _, err := e.Take(ctx, lockFor(name+" after the crash", time.Minute)); err != nil {
		return err
	}
	r.exec("UPDATE " + r.schema + ".alive SET opens = '-infinity'") // opens the crash guard
	first, second := lockFor(name, time.Minute), lockFor(name, time.Minute)
	first.Mode, second.Join = driver.Shared, true
	third := first
	third.Owner = lockFor(name, time.Minute).Owner
	for _, l := range []driver.Request{first, third} {
		if _, err := e.Take(ctx, l); err != nil {
			return err
		}
	}
	if _, err := e.Take(ctx, second); !errors.Is(err, driver.ErrHeld) {
		return err
	}
	if err := renewal(ctx, e, first); err != nil {
		return err
	}
	for _, l := range []driver.Request{first, third} {
		if err := e.Release(ctx, driver.Release{Hold: holdOf(l)}); err != nil {
			return err
		}
	}
	if _, err := e.Wait(ctx, second); err != nil {
		return err
	}
	set := driver.DataSet{Hold: holdOf(second), Data: driver.Data{Value: []byte("x"), Token: 1, Number: 1}}
	for range 2 {
		if err := e.SetData(ctx, set); err != nil {
			return err
		}
		set.Data.Number++
	}
	if err := e.Release(ctx, driver.Release{Hold: holdOf(second)}); err != nil {
		return err
	}
	if _, err := e.TakeAll(ctx, []driver.Request{lockFor(name+"a", time.Minute),
		lockFor(name+"b", time.Minute)}); err != nil {
		return err
	}
	if _, err := e.TrySet(ctx, driver.LatchSet{Name: name, ID: "1", Count: 1, TTL: time.Minute}); err != nil {
		return err
	}
	if _, err := e.CountDown(ctx, driver.LatchDown{Name: name, ID: "1", TTL: time.Minute}); err != nil {
		return err
	}
	if err := e.WaitLatch(ctx, name, 0); err != nil {
		return err
	}
	// Each lock does this now and then.
	r.exec("UPDATE " + r.schema + ".latches SET expires = '-infinity'")
	return postgres.SweepNow(ctx, e)
}

func TestDocumentedRightsToOperate(t *testing.T) {
	t.Parallel()
	r := newRightsTest(t, "Lock", "Operate")
	r.checkNeedsAll("Operate", func(user string) error {
		e, err := r.open(user)
		if err != nil {
			return err
		}
		defer e.Close()
		ctx := t.Context()
		owner, l, g := r.held(fmt.Sprint("run ", r.runs))
		defer owner.Close()
		if err := e.Record(ctx, removal()); err != nil {
			return err
		}
		if err := e.ForceRelease(ctx, l.Key, g.Token); err != nil {
			return err
		}
		if err := renewal(ctx, owner, l); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("the lock is still held: %v", err)
		}
		if all, err := e.Records(ctx, 1); err != nil || len(all) != 1 {
			return err
		}
		left := lockFor(fmt.Sprint("left ", r.runs), time.Minute)
		mustTake(t, owner, left)
		r.exec("UPDATE " + r.schema + ".holders SET expires = now() - interval '1 min' WHERE name = '" + left.Name +
			"'")
		var found []driver.Leak
		if err := e.Leaks(ctx, driver.Query{Name: left.Name},
			func(l driver.Leak) bool { found = append(found, l); return true }); err != nil || len(found) != 1 {
			t.Fatalf("Leaks: %v, %v", found, err)
		}
		return e.Sweep(ctx, found[0])
	})
	user := r.roles["Operate"].user
	if err := r.locks(user); err != nil {
		t.Errorf("an operator cannot lock: %v", err)
	}
	r.checkRefused(user, nil, "DELETE FROM leasehold.meta", "TRUNCATE leasehold.removals",
		"DROP TABLE leasehold.removals", "REFRESH MATERIALIZED VIEW leasehold.origin")
	e, err := r.open(user)
	if err != nil {
		t.Fatal(err)
	}
	mustExamine(t, e, "warning guard-off")
}

func TestDocumentedRightsToMakeTables(t *testing.T) {
	t.Parallel()
	r := newRightsTest(t, "Make", "Look")
	r.checkNeedsAll("Make", func(user string) error {
		e, err := postgres.Open(t.Context(), strings.Replace(r.url(user), "schema="+r.schema, "schema="+schemaName(),
			1))
		if err != nil {
			return err
		}
		defer e.Close()
		_, err = e.Take(t.Context(), lockFor("a", time.Minute))
		return err
	})
	// Tables of an earlier version can be read, but not updated, by this user.
	schema := schemaName()
	r.exec(postgres.SQLOf(schema, 8))
	r.exec(strings.ReplaceAll(strings.Join([]string{
		"GRANT USAGE ON SCHEMA leasehold TO PUBLIC", "GRANT SELECT ON ALL TABLES IN SCHEMA leasehold TO PUBLIC",
		"INSERT INTO leasehold.holders (kind, name, expires, granted, home, upto) VALUES (1, 'a', now() + interval " +
			"'1 h', now(), 1, '0')",
	}, "; "), "leasehold", schema))
	e, err := postgres.Open(t.Context(), strings.Replace(r.url(r.roles["Look"].user), "schema="+r.schema,
		"schema="+schema, 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	if page, err := e.List(t.Context(), driver.Query{}); err != nil || len(page) != 1 {
		t.Errorf("tables of an earlier version are listed as %+v, %v", page, err)
	}
	if _, err := e.Take(t.Context(), lockFor("b", time.Minute)); !driver.IsPermanent(err) ||
		!strings.Contains(fmt.Sprint(err), "only the user who has made the tables") {
		t.Errorf("Take with tables of an earlier version: %v", err)
	}
}

// A user who only reads makes no tables and needs no right to. The first lock makes them.
func TestReadingCreatesNothing(t *testing.T) {
	t.Parallel()
	r := newRightsTest(t, "Look")
	schema := schemaName()
	exists := func() (is bool) {
		if err := r.pool.QueryRow(t.Context(), "SELECT to_regnamespace($1) IS NOT NULL", schema).Scan(&is); err != nil {
			t.Fatal(err)
		}
		return is
	}
	looks := func(user string, findings ...string) *postgres.Engine {
		t.Helper()
		e, err := postgres.Open(t.Context(), strings.Replace(r.url(user), "schema="+r.schema, "schema="+schema, 1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		if page, err := e.List(t.Context(), driver.Query{}); err != nil || len(page) != 0 {
			t.Errorf("the listing is %+v, %v", page, err)
		}
		if all, err := e.Records(t.Context(), 0); err != nil || len(all) != 0 {
			t.Errorf("the records are %+v, %v", all, err)
		}
		if err := e.Leaks(t.Context(), driver.Query{}, func(driver.Leak) bool { return true }); err != nil {
			t.Error(err)
		}
		if _, err := e.LatchState(t.Context(), "a"); !errors.Is(err, driver.ErrNotSet) {
			t.Errorf("LatchState: %v", err)
		}
		mustExamine(t, e, findings...)
		if exists() {
			t.Fatal("reading has made the tables")
		}
		return e
	}
	reader, maker := looks(r.roles["Look"].user, "critical tables-missing", "warning guard-off"),
		looks("postgres", "note tables-missing", "warning guard-off")
	_, err := reader.Take(t.Context(), lockFor("a", time.Minute))
	if lacks, typed := errors.AsType[*postgres.RightsError](err); !typed ||
		!slices.Equal(lacks.Missing, []string{"CREATE ON DATABASE postgres"}) || !driver.IsPermanent(err) {
		t.Errorf("Take without tables: %v", err)
	}
	// Even if the request has no time to wait: the tables are made all the same.
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := maker.Take(short, lockFor("a", time.Minute)); !driver.HadNoEffect(err) || driver.IsPermanent(err) {
		t.Errorf("Take that is given up: %v", err)
	}
	mustTake(t, maker, lockFor("a", time.Minute))
	mustExamine(t, maker, "warning guard-off")
	if page, err := maker.List(t.Context(), driver.Query{}); err != nil || len(page) != 1 {
		t.Errorf("the listing is %+v, %v", page, err)
	}
	// By now the user may not read them.
	_, err = reader.List(t.Context(), driver.Query{})
	if lacks, typed := errors.AsType[*postgres.RightsError](err); !typed ||
		!slices.Contains(lacks.Missing, "USAGE ON SCHEMA "+schema) {
		t.Errorf("List of what others have made: %v", err)
	}
}

func holdOf(l driver.Request) driver.Hold {
	return driver.Hold{Key: l.Key, Owner: l.Owner, Mode: l.Mode}
}

func removal() driver.Removal {
	return driver.Removal{ID: "1", At: time.Now(), Key: driver.Key{Kind: driver.Lock, Name: "a"}, By: "test",
		Why: "test"}
}
