//go:build unix

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/postgresserver"
)

// The statements in the documentation are all that a user needs who finds the tables made.
func TestSmallestRightsOnPostgres(t *testing.T) {
	t.Parallel()
	s := postgresWithPasswords(t, postgresserver.Config{TCP: true, Durable: true})
	page, err := os.ReadFile("../../docs/engines/postgres.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile("(?s)### The smallest rights\n.*?```sql\n(.*?)```").FindSubmatch(page)
	if documented == nil {
		t.Fatal("the documentation does not tell of the smallest rights")
	}
	psql(t, s, "CREATE ROLE owner LOGIN; GRANT CREATE ON DATABASE postgres TO owner; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	setPassword(t, s, "owner")
	url := func(user, parameters string) string {
		return "postgres://" + withPassword(user) + s.Addr() + "/postgres?sslmode=disable" + parameters
	}
	m := newMachine(t)
	// After a crash somebody has to close the place, and may.
	const short = "&max_ttl=2s"
	m.use(url("owner", short)).do("run", "c", "--", "true").want(t, 0)
	psql(t, s, string(documented[1]))
	setPassword(t, s, "shop")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	m.use(url("shop", "&migrate=off"+short))
	if r := m.do("run", "-n", "c", "--", "echo", "must not run").want(t, 69); !strings.Contains(r.err, "no lease is granted until") {
		t.Errorf("after a crash: %q", r.err)
	}
	if r := m.do("run", "-w", "60s", "c", "--", "true").want(t, 0); !strings.Contains(r.err, "no lease is granted until") {
		t.Errorf("after a crash: %q", r.err)
	}

	m.use(url("shop", "&migrate=off"))
	holder := m.hold("a")
	next := m.start("run", "-w", "60s", "a", "--", "echo", "it was my turn")
	m.until("a waiter", func() bool { return strings.Contains(m.do("inspect", "a").want(t, 0).out, "waiting: 1.") })
	m.do("run", "-n", "a", "--", "echo", "must not run").want(t, 75)
	for _, args := range []string{"run -s b -- true", "run --slots 2 b -- true", "run --min-hold 100ms b -- true", "leaks --fix --yes", "release --force --yes a"} {
		m.do(strings.Fields(args)...).want(t, 0).wantNoSecret(t)
	}
	if line := next.line(); line != "it was my turn" {
		t.Errorf("the next one says %q", line)
	}
	next.wait().want(t, 0)
	holder.in.Close()
	holder.wait().want(t, 70)
	if r := m.do("audit").want(t, 0); strings.Count(r.out, "\n") != 2 {
		t.Errorf("the record is %q", r.out)
	}
	if r := m.do("doctor", "-o", "json"); strings.Contains(r.out, `"rights`) || r.code == 69 {
		t.Errorf("the doctor says %q, %q", r.out, r.err)
	}

	// What is missing is told.
	m.use(url("shop", "&migrate=off"))
	for _, right := range []string{"USAGE ON SCHEMA leasehold", "INSERT ON ALL TABLES IN SCHEMA leasehold", "USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA leasehold"} {
		psql(t, s, "REVOKE "+right+" FROM shop")
		if r := m.do("run", "d", "--", "true").want(t, 69); !strings.Contains(r.err, "rights") || strings.Count(r.err, "\n") != 1 {
			t.Errorf("without %s: %q", right, r.err)
		}
		psql(t, s, "GRANT "+right+" TO shop")
	}
	m.do("run", "d", "--", "true").want(t, 0)
}
