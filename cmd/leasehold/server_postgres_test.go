//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/leasehold-go/leasehold/internal/postgresserver"
)

// openPostgres starts a server on which anna has created the tables, and berta, with the same password, has no rights.
func openPostgres(t *testing.T) *testServers {
	s := postgresWithPasswords(t, postgresserver.Config{TCP: true})
	psql(t, s, "CREATE ROLE anna LOGIN; GRANT CREATE ON DATABASE postgres TO anna; CREATE ROLE berta LOGIN")
	setPassword(t, s, "anna")
	setPassword(t, s, "berta")
	url := func(user, at string) string { return "postgres://" + user + at + "/postgres?sslmode=disable" }
	return &testServers{
		url: url(withPassword("anna"), s.Addr()),
		broken: map[string]string{
			"DOWN":     url(withPassword("anna"), closed(t, 1)[0]),
			"WRONG":    url("anna:wrong-geheim@", s.Addr()),
			"NORIGHTS": url(withPassword("berta"), s.Addr()),
		},
	}
}

// postgresWithPasswords starts a server that asks everybody but the superuser for a password.
func postgresWithPasswords(t *testing.T, c postgresserver.Config) *postgresserver.Server {
	t.Helper()
	folder, err := os.MkdirTemp("", "hba") // the user that the server runs as may not read the test's own folder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "pg_hba.conf")
	if err := os.WriteFile(file, []byte("local all postgres trust\nhost all all all scram-sha-256\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	c.Settings = append(c.Settings, "hba_file="+file)
	return postgresserver.ForTest(t, c)
}

// setPassword gives a role the common password. It is in hexadecimal: everybody sees the arguments of psql, and tests
// search them for passwords that the command shows.
func setPassword(t *testing.T, s *postgresserver.Server, role string) {
	t.Helper()
	psql(t, s,
		fmt.Sprintf(`DO $$ BEGIN EXECUTE format('ALTER ROLE %s PASSWORD %%L', convert_from('\x%x', 'UTF8')); END $$`,
			role, geheim))
}

func psql(t *testing.T, s *postgresserver.Server, text string) {
	t.Helper()
	if _, err := s.Ask(text); err != nil {
		t.Fatal(err)
	}
}
