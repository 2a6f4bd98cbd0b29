//go:build unix

package postgres

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whoever can write the files that pgx reads can pass for the server, or name another one.
func TestFilesThatOthersCouldWrite(t *testing.T) {
	_, authority := certified(t, "db.example.org")
	pem, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	const url, service = "postgres://anna@db.example.org/db", "[shop]\nhost=db.example.org\n"
	for name, c := range map[string]struct {
		file, text string
		url        string
		variables  []string // with FILE for the path of the file
		ignored    bool     // nothing in the file counts
	}{
		"passwords by default":     {file: ".pgpass", url: url},
		"passwords in the URL":     {file: "f", url: url + "?passfile=FILE"},
		"passwords by a variable":  {file: "f", url: url, variables: []string{"PGPASSFILE=FILE"}},
		"passwords not needed":     {file: ".pgpass", url: "postgres://anna:x@db.example.org/db", ignored: true},
		"passwords not needed too": {file: ".pgpass", url: url, variables: []string{"PGPASSWORD=x"}, ignored: true},
		"services by default":      {file: ".pg_service.conf", text: service, url: "postgres://?service=shop"},
		"services in the URL":      {file: "f", text: service, url: "postgres://?service=shop&servicefile=FILE"},
		"services by variables": {file: "f", text: service, url: "postgres://",
			variables: []string{"PGSERVICE=shop", "PGSERVICEFILE=FILE"}},
		"services not named":     {file: ".pg_service.conf", text: service, url: url, ignored: true},
		"authorities by default": {file: ".postgresql/root.crt", text: string(pem), url: url},
		"authorities in the URL": {file: "f", text: string(pem), url: url + "?sslrootcert=FILE"},
		"authorities by a variable": {file: "f", text: string(pem), url: url,
			variables: []string{"PGSSLROOTCERT=FILE"}},
		"authorities without TLS": {file: ".postgresql/root.crt", text: string(pem), url: url + "?sslmode=disable",
			ignored: true},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			for _, variable := range pgxVariables {
				t.Setenv(variable, "")
			}
			path := filepath.Join(home, c.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, set := range c.variables {
				variable, value, _ := strings.Cut(set, "=")
				t.Setenv(variable, strings.ReplaceAll(value, "FILE", path))
			}
			for _, mode := range []os.FileMode{0o644, 0o666} {
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
				_, err := parseURL(strings.ReplaceAll(c.url, "FILE", path))
				refused := err != nil && strings.Contains(err.Error(), "every user of the machine may write the file")
				if want := mode == 0o666 && !c.ignored; refused != want || !want && err != nil {
					t.Errorf("mode %o: %v", mode, err)
				}
			}
		})
	}
}

// What pgx reads a secret from is remembered, for an examination.
func TestSecretFiles(t *testing.T) {
	const (
		url     = "postgres://anna@db.example.org/db"
		service = "[shop]\nhost=db.example.org\n"
	)
	for name, c := range map[string]struct {
		file, text string // in the home folder
		url        string // with HOME for that folder
		variables  []string
		want       string // the name of the file, or ""
	}{
		"no files":             {url: url},
		"passwords by default": {file: ".pgpass", url: url, want: ".pgpass"},
		"passwords by a variable": {file: "f", url: url, variables: []string{"PGPASSFILE=HOME/f"},
			want: "f"},
		"passwords in the URL": {file: "f", url: url + "?passfile=HOME/f", want: "f"},
		"passwords not needed": {file: ".pgpass", url: "postgres://anna:x@h/db"},
		"a service":            {file: ".pg_service.conf", text: service, url: "postgres://?service=shop"},
		"a service with a password": {file: ".pg_service.conf", text: service + "password=x\n",
			url: "postgres://?service=shop", want: ".pg_service.conf"},
		"a service with a password that does not count": {file: ".pg_service.conf", text: service + "password=x\n",
			url: "postgres://anna:y@h/db?service=shop"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			for _, variable := range pgxVariables {
				t.Setenv(variable, "")
			}
			for _, set := range c.variables {
				variable, value, _ := strings.Cut(set, "=")
				t.Setenv(variable, strings.ReplaceAll(value, "HOME", home))
			}
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(home, c.file), []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			target, err := parseURL(strings.ReplaceAll(c.url, "HOME", home))
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if c.want != "" {
				want = []string{filepath.Join(home, c.want)}
			}
			if !slices.Equal(target.secretFiles, want) {
				t.Errorf("the files are %q, want %q", target.secretFiles, want)
			}
		})
	}
}

// The files that a service names count as well.
func TestFilesOfAServiceThatOthersCouldWrite(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	passwords := filepath.Join(home, "passwords")
	text := "[shop]\nhost=db.example.org\npassfile=" + passwords + "\n"
	if err := os.WriteFile(filepath.Join(home, ".pg_service.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o666: true} {
		if err := os.WriteFile(passwords, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(passwords, mode); err != nil {
			t.Fatal(err)
		}
		_, err := parseURL("postgres://?service=shop")
		if refused := err != nil && strings.Contains(err.Error(), "passfile: every user"); refused != want {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}
