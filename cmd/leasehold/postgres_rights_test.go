//go:build unix

package main

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold-go/leasehold/internal/postgresserver"
)

// The statements in the documentation give users all the rights that their kinds of work need. The engine's tests show
// that each of them is needed.
func TestSmallestRightsOnPostgres(t *testing.T) {
	t.Parallel()
	s := postgresWithPasswords(t, postgresserver.Config{TCP: true, Durable: true})
	page, err := os.ReadFile("../../docs/engines/postgres.md")
	if err != nil {
		t.Fatal(err)
	}
	psql(t, s, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	documented := func(kind, user string) {
		t.Helper()
		found := regexp.MustCompile(`(?s)\*\*` + kind + "[:.]+\\*\\*[^\n]*\n\n```sql\n(.*?)```").FindSubmatch(page)
		if found == nil {
			t.Fatalf("the documentation does not tell of the rights to %s", strings.ToLower(kind))
		}
		psql(t, s, strings.ReplaceAll(string(found[1]), "DATABASE shop", "DATABASE postgres"))
		setPassword(t, s, user)
	}
	url := func(user, parameters string) string {
		return "postgres://" + withPassword(user) + s.Addr() + "/postgres?sslmode=disable" + parameters
	}
	m := newMachine(t)
	documented("Make", "shop_make")
	// After a crash somebody has to close the database to new leases, and has the right to.
	const short = "&max_ttl=5s"
	m.use(url("shop_make", short))
	m.do("ls").want(t, 0)
	if there, err := s.Ask("SELECT to_regnamespace('leasehold') IS NOT NULL"); err != nil || there != "f" {
		t.Errorf("a listing has made the tables: %q, %v", there, err)
	}
	m.do("run", "c", "--", "true").want(t, 0)
	documented("Look", "shop_look")
	documented("Lock", "shop")
	documented("Operate", "shop_operate")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	m.use(url("shop", short))
	if r := m.do("run", "-n", "c", "--", "echo", "must not run").want(t, 69); !strings.Contains(r.err,
		"grants are closed until") {
		t.Errorf("after a crash: %q", r.err)
	}
	// A busy machine may come when it is open again.
	if r := m.do("run", "-w", "60s", "c", "--", "true").want(t, 0); r.err != "" && !strings.Contains(r.err,
		"grants are closed until") {
		t.Errorf("after a crash: %q", r.err)
	}

	m.use(url("shop", ""))
	holder := m.hold("a")
	next := m.start("run", "-w", "60s", "a", "--", "echo", "it was my turn")
	wantReadOnly(t, m, url("shop_look", ""), "GRANT ", "GRANT ")
	m.use(url("shop", "&migrate=off"))
	m.until("a waiter", func() bool { return strings.Contains(m.do("inspect", "a").want(t, 0).out, "waiting: 1.") })
	m.do("run", "-n", "a", "--", "echo", "must not run").want(t, 75)
	for _, args := range []string{"run -s b -- true", "run --slots 2 b -- true", "run --min-hold 100ms b -- true",
		"run --once 1 job -- true"} {
		m.do(strings.Fields(args)...).want(t, 0).wantNoSecret(t)
	}
	if r := m.do("release", "--force", "--yes", "a").want(t, 69); !strings.Contains(r.err, "ON leasehold.removals TO") {
		t.Errorf("a user who may not write the record has taken a lock away: %q", r.err)
	}
	m.use(url("shop_operate", ""))
	for _, args := range []string{"leaks --fix --yes", "release --force --yes a", "run b -- true"} {
		m.do(strings.Fields(args)...).want(t, 0).wantNoSecret(t)
	}
	if line := next.line(); line != "it was my turn" {
		t.Errorf("the next one says %q", line)
	}
	next.wait().want(t, 0)
	holder.in.Close()
	holder.wait().want(t, 70)
	for _, user := range []string{"shop_operate", "shop_look"} {
		m.use(url(user, ""))
		if r := m.do("runs", "job").want(t, 0); !strings.HasPrefix(r.out, "done: 1\n") {
			t.Errorf("the runs are %q", r.out)
		}
		if r := m.do("audit").want(t, 0); strings.Count(r.out, "\n") != 2 {
			t.Errorf("the record is %q", r.out)
		}
	}
	for user, want := range map[string]string{"shop": `"rights-spare"`, "shop_look": `"rights-look"`,
		"shop_operate": "", "shop_make": ""} {
		m.use(url(user, ""))
		r := m.do("doctor", "-o", "json")
		if told := regexp.MustCompile(`"rights[a-z-]*"`).FindString(r.out); told != want || r.code == 69 ||
			strings.Contains(r.out, `"critical"`) {
			t.Errorf("of %s the doctor says %q, %q", user, r.out, r.err)
		}
	}
}

// wantReadOnly expects that a user sees the lock a and can run all commands that only read, but no others. The texts
// are the errors for taking a lock and for removing one.
func wantReadOnly(t *testing.T, m *machine, url, taking, takingAway string) {
	t.Helper()
	m.use(url)
	if r := m.do("ls").want(t, 0).wantNoSecret(t); !strings.Contains(r.out, "a ") {
		t.Errorf("the listing is %q", r.out)
	}
	for _, args := range []string{"ls -o json", "inspect a", "check nobody", "wait nobody", "leaks"} {
		m.do(strings.Fields(args)...).want(t, 0).wantNoSecret(t)
	}
	m.do("check", "a").want(t, 1)
	watch := m.start("watch", "--interval", "100ms", "-o", "json", "a")
	watch.event("held")
	watch.signal(syscall.SIGTERM)
	watch.wait()
	e := m.export()
	e.awaitMetrics("leasehold_up 1", `leasehold_locks_held{kind="lock",resource="default"} 1`)
	if e.hasMetrics(`leasehold_findings{severity="critical",code="rights"} 1`) {
		t.Error("the exporter sounds an alarm")
	}
	e.end(syscall.SIGTERM)
	for args, told := range map[string]string{
		"run b -- echo must not run":           taking,
		"run -s b -- echo must not run":        taking,
		"run --slots 2 b -- echo must not run": taking,
		"release --force --yes a":              takingAway,
	} {
		r := m.do(strings.Fields(args)...).want(t, 69).wantNoSecret(t)
		if !strings.Contains(r.err, told) || !strings.Contains(r.err, "right") || r.out != "" {
			t.Errorf("%s: %q, %q", args, r.out, r.err)
		}
	}
}
