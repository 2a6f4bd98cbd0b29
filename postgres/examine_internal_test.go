package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// What is hard to bring about.
func TestExamineJudges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*sight, *settled)
		want   []string
	}{
		"well":              {func(*sight, *settled) {}, nil},
		"an old version":    {func(s *sight, _ *settled) { s.number = 120022 }, []string{"critical old-version"}},
		"older tables":      {func(s *sight, _ *settled) { s.migration-- }, []string{"critical tables-version"}},
		"a pooler":          {func(s *sight, _ *settled) { s.pooled = true }, []string{"warning pooler"}},
		"a pooler, polling": {func(s *sight, e *settled) { s.pooled, e.polling = true, true }, nil},
		"fsync off":         {func(s *sight, _ *settled) { s.fsync = false }, []string{"warning fsync-off"}},
		"pages off":         {func(s *sight, _ *settled) { s.fullPages = false }, []string{"warning fsync-off"}},
		"nearly full":       {func(s *sight, _ *settled) { s.clients = 90 }, []string{"warning clients-nearly-full"}},
		"not nearly full":   {func(s *sight, _ *settled) { s.clients = 89 }, nil},
		"a short max_ttl":   {func(_ *sight, e *settled) { e.longest = time.Second }, []string{"note long-closing"}},
		"idle transactions": {func(s *sight, _ *settled) { s.guards = []longGuard{{7, time.Hour}, {8, time.Hour}} }, []string{"warning idle-guard", "warning idle-guard"}},
		"a standby":         {func(s *sight, _ *settled) { s.place.Votes, s.readOnly = false, true }, []string{"critical replica-as-node"}},
		"read-only":         {func(s *sight, _ *settled) { s.readOnly = true }, []string{"critical read-only"}},
		"the guard is off":  {func(_ *sight, e *settled) { e.guard, e.longest = false, time.Second }, []string{"warning guard-off"}},
		"no tables":         {func(s *sight, _ *settled) { s.tables, s.migration = false, 0 }, []string{"critical tables-missing"}},
		"autovacuum is off": {func(s *sight, _ *settled) { s.autovacuum = false }, []string{"warning autovacuum-off"}},
		"no rights": {func(s *sight, _ *settled) {
			s.denied, s.unseen, s.migration = []string{"SELECT ON a.meta"}, []string{"SELECT ON a.meta"}, 0
		}, []string{"critical rights"}},
		"some rights":        {func(s *sight, _ *settled) { s.denied, s.changer = []string{"UPDATE ON a.holders"}, true }, []string{"critical rights"}},
		"rights to look":     {func(s *sight, _ *settled) { s.denied = []string{"UPDATE ON a.holders"} }, []string{"note rights-look"}},
		"tables to make":     {func(s *sight, e *settled) { s.tables, s.maker, s.migration, e.makes = false, true, 0, true }, []string{"note tables-missing"}},
		"not to be made":     {func(s *sight, _ *settled) { s.tables, s.maker, s.migration = false, true, 0 }, []string{"critical tables-missing"}},
		"may not make":       {func(s *sight, e *settled) { s.tables, s.migration, e.makes = false, 0, true }, []string{"critical tables-missing"}},
		"tables to update":   {func(s *sight, e *settled) { s.migration--; s.maker, e.makes = true, true }, []string{"note tables-version"}},
		"may not update":     {func(s *sight, e *settled) { s.migration--; e.makes = true }, []string{"critical tables-version"}},
		"newer tables":       {func(s *sight, e *settled) { s.migration++; s.maker, e.makes = true, true }, []string{"critical tables-version"}},
		"less rights":        {func(s *sight, _ *settled) { s.spare = []string{"SELECT ON a.latches"} }, []string{"note rights-spare"}},
		"no TLS":             {func(s *sight, _ *settled) { s.weak = &exposure.Weakness{Code: "tls-off", Text: "a"} }, []string{"note tls-off"}},
		"a password shown":   {func(s *sight, _ *settled) { s.weak = &exposure.Weakness{Code: "tls-off", Text: "a", Exposed: true} }, []string{"warning tls-off"}},
		"a strict isolation": {func(s *sight, _ *settled) { s.isolation = "serializable" }, []string{"critical isolation-level"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sight{
				place: driver.Place{Name: "10.0.0.1:5432/locks", Votes: true}, number: 130000, isolation: "read committed", fsync: true, fullPages: true,
				autovacuum: true, clients: 5, most: 100, tables: true, migration: 3, longest: time.Minute,
			}
			e := settled{guard: true, longest: time.Minute, known: 3}
			c.change(s, &e)
			var found []string
			for _, f := range s.judge(e) {
				found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
				if f.Place != "10.0.0.1:5432/locks" || f.Text == "" || f.Mend == "" {
					t.Errorf("it says %+v", f)
				}
			}
			if !slices.Equal(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

func TestWeaknessOfConnections(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://a:b@h/d":                                              "",
		"postgres://a:b@127.0.0.1/d":                                      "",
		"postgres://a:b@/d?host=/run/postgresql":                          "",
		"postgres://a@h/d?sslmode=disable":                                "tls-off false",
		"postgres://a:b@h/d?sslmode=disable":                              "tls-off false",
		"postgres://a:b@h/d?sslmode=require":                              "tls-unverified false",
		"postgres://a:b@h/d?sslmode=verify-ca":                            "tls-unverified false",
		"postgres://a:b@h/d?sslmode=disable&require_auth=md5":             "tls-off true",
		"postgres://a:b@h/d?sslmode=require&require_auth=password":        "tls-unverified true",
		"postgres://a:b@h/d?sslmode=verify-full&require_auth=password":    "",
		"postgres://a:b@localhost,h/d?sslmode=disable&require_auth=!none": "tls-off true",
	} {
		target, err := parseURL(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := ""
		if w := weakness(target.pool.ConnConfig); w != nil {
			got = fmt.Sprint(w.Code, " ", w.Exposed)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	pool, err := pgxpool.ParseConfig("postgres://a:b@h/d?sslmode=prefer") // which a program may give to New
	if w := weakness(pool.ConnConfig); err != nil || w == nil || w.Code != "tls-off" || !w.Exposed {
		t.Errorf("a pool that falls back: %+v, %v", w, err)
	}
}
