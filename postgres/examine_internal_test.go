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

// Findings that are hard to provoke on a server.
func TestExamineJudges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*serverReport, *engineSettings)
		want   []string
	}{
		"well": {func(*serverReport, *engineSettings) {}, nil},
		"an old version": {func(s *serverReport, _ *engineSettings) { s.number = 120022 },
			[]string{"critical old-version"}},
		"older tables": {func(s *serverReport, _ *engineSettings) { s.migration-- },
			[]string{"critical tables-version"}},
		"a pooler":          {func(s *serverReport, _ *engineSettings) { s.pooled = true }, []string{"warning pooler"}},
		"a pooler, polling": {func(s *serverReport, e *engineSettings) { s.pooled, e.polling = true, true }, nil},
		"fsync off": {func(s *serverReport, _ *engineSettings) { s.fsync = false },
			[]string{"warning fsync-off"}},
		"pages off": {func(s *serverReport, _ *engineSettings) { s.fullPages = false },
			[]string{"warning fsync-off"}},
		"nearly full": {func(s *serverReport, _ *engineSettings) { s.clients = 90 },
			[]string{"warning clients-nearly-full"}},
		"not nearly full": {func(s *serverReport, _ *engineSettings) { s.clients = 89 }, nil},
		"a short max_ttl": {func(_ *serverReport, e *engineSettings) {
			e.longestTTL = time.Second
		}, []string{"note long-closing"}},
		"idle transactions": {func(s *serverReport, _ *engineSettings) {
			s.guards = []idleGuard{{7, time.Hour}, {8, time.Hour}}
		}, []string{"warning idle-guard", "warning idle-guard"}},
		"a standby": {func(s *serverReport, _ *engineSettings) {
			s.server.Votes, s.readOnly = false, true
		}, []string{"critical replica-as-node"}},
		"read-only": {func(s *serverReport, _ *engineSettings) { s.readOnly = true },
			[]string{"critical read-only"}},
		"the guard is off": {func(_ *serverReport, e *engineSettings) {
			e.guard, e.longestTTL = false, time.Second
		}, []string{"warning guard-off"}},
		"no tables": {func(s *serverReport, _ *engineSettings) {
			s.tables, s.migration = false, 0
		}, []string{"critical tables-missing"}},
		"autovacuum is off": {func(s *serverReport, _ *engineSettings) { s.autovacuum = false },
			[]string{"warning autovacuum-off"}},
		"no rights": {func(s *serverReport, _ *engineSettings) {
			s.missingToLock, s.missingToList = []string{"SELECT ON a.meta"}, []string{"SELECT ON a.meta"}
			s.migration = 0
		}, []string{"critical rights"}},
		"some rights": {func(s *serverReport, _ *engineSettings) {
			s.missingToLock, s.canChange = []string{"UPDATE ON a.holders"}, true
		}, []string{"critical rights"}},
		"rights to look": {func(s *serverReport, _ *engineSettings) {
			s.missingToLock = []string{"UPDATE ON a.holders"}
		}, []string{"note rights-look"}},
		"tables to make": {func(s *serverReport, e *engineSettings) {
			s.tables, s.canMigrate, s.migration, e.canMigrate = false, true, 0, true
		}, []string{"note tables-missing"}},
		"not to be made": {func(s *serverReport, _ *engineSettings) {
			s.tables, s.canMigrate, s.migration = false, true, 0
		}, []string{"critical tables-missing"}},
		"may not make": {func(s *serverReport, e *engineSettings) {
			s.tables, s.migration, e.canMigrate = false, 0, true
		}, []string{"critical tables-missing"}},
		"tables to update": {func(s *serverReport, e *engineSettings) {
			s.migration--
			s.canMigrate, e.canMigrate = true, true
		}, []string{"note tables-version"}},
		"may not update": {func(s *serverReport, e *engineSettings) {
			s.migration--
			e.canMigrate = true
		}, []string{"critical tables-version"}},
		"newer tables": {func(s *serverReport, e *engineSettings) {
			s.migration++
			s.canMigrate, e.canMigrate = true, true
		}, []string{"critical tables-version"}},
		"less rights": {func(s *serverReport, _ *engineSettings) {
			s.missingOther = []string{"SELECT ON a.latches"}
		}, []string{"note rights-spare"}},
		"no TLS": {func(s *serverReport, _ *engineSettings) {
			s.weakness = &exposure.Weakness{Code: "tls-off", Text: "a"}
		}, []string{"note tls-off"}},
		"a password shown": {func(s *serverReport, _ *engineSettings) {
			s.weakness = &exposure.Weakness{Code: "tls-off", Text: "a", Exposed: true}
		}, []string{"warning tls-off"}},
		"a password that nobody asks for": {func(s *serverReport, _ *engineSettings) {
			s.passwordUnused = true
		}, []string{"warning password-unused"}},
		"a strict isolation": {func(s *serverReport, _ *engineSettings) {
			s.isolation = "serializable"
		}, []string{"critical isolation-level"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &serverReport{
				server: driver.Server{Name: "10.0.0.1:5432/locks", Votes: true}, number: 130000,
				isolation: "read committed", fsync: true, fullPages: true,
				autovacuum: true, clients: 5, maxConnections: 100, tables: true, migration: 3, longestTTL: time.Minute,
			}
			e := engineSettings{guard: true, longestTTL: time.Minute, knownVersion: 3}
			c.change(s, &e)
			var found []string
			for _, f := range s.judge(e) {
				found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
				if f.Server != "10.0.0.1:5432/locks" || f.Text == "" || f.Fix == "" {
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
		if w := findWeakness(target.pool.ConnConfig); w != nil {
			got = fmt.Sprint(w.Code, " ", w.Exposed)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	pool, err := pgxpool.ParseConfig("postgres://a:b@h/d?sslmode=prefer") // a program may pass this to New
	if w := findWeakness(pool.ConnConfig); err != nil || w == nil || w.Code != "tls-off" || !w.Exposed {
		t.Errorf("a pool that falls back: %+v, %v", w, err)
	}
}
