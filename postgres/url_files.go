package postgres

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgservicefile"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// pgxVariables are the environment variables that pgx reads for the parameters that matter here.
var pgxVariables = map[string]string{
	"passfile": "PGPASSFILE", "password": "PGPASSWORD", "service": "PGSERVICE", "servicefile": "PGSERVICEFILE",
	"sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY", "sslrootcert": "PGSSLROOTCERT",
}

// pgxFiles are the files in the home folder that pgx reads if they are there.
var pgxFiles = map[string]string{
	"passfile": ".pgpass", "servicefile": ".pg_service.conf", "sslcert": ".postgresql/postgresql.crt",
	"sslkey": ".postgresql/postgresql.key", "sslrootcert": ".postgresql/root.crt",
}

// checkFiles rejects the files that pgx has read for a URL if others could write or replace them: they could pass for
// the server, or name another one. It remembers those with secrets. password is that of the URL.
func (t *parsedURL) checkFiles(password string) error {
	var service map[string]string
	value := func(parameter string) string {
		return cmp.Or(t.value(parameter), service[parameter], os.Getenv(pgxVariables[parameter]), fileAtHome(parameter))
	}
	if name := value("service"); name != "" {
		if err := engineurl.CheckFile(value("servicefile")); err != nil {
			return fmt.Errorf("postgres engine: servicefile: %w", err)
		}
		service = serviceSettings(value("servicefile"), name)
		if password == "" && t.value("password") == "" && service["password"] != "" {
			t.secretFiles = append(t.secretFiles, value("servicefile"))
		}
	}
	var read []string
	if password == "" && value("password") == "" {
		read = append(read, "passfile")
	}
	if slices.ContainsFunc(connectionPaths(t.pool.ConnConfig), func(p connectionPath) bool { return p.tls != nil }) {
		read = append(read, "sslrootcert", "sslcert", "sslkey")
	}
	for _, parameter := range read {
		path := value(parameter)
		if path == "" || parameter == "sslrootcert" && path == "system" { // the authorities of the system
			continue
		}
		if err := engineurl.CheckFile(path); err != nil {
			return fmt.Errorf("postgres engine: %s: %w", parameter, err)
		}
		if parameter == "passfile" || parameter == "sslkey" {
			t.secretFiles = append(t.secretFiles, path)
		}
	}
	return nil
}

// value returns what the URL says about a parameter of pgx, or "".
func (t *parsedURL) value(parameter string) string {
	for _, part := range t.forPgx {
		if escaped, ok := strings.CutPrefix(part, parameter+"="); ok {
			text, _ := url.QueryUnescape(escaped) // it was escaped here
			return text
		}
	}
	return ""
}

// fileAtHome returns the file in the home folder that a parameter means by default, or "" if it is not there.
func fileAtHome(parameter string) string {
	home, err := os.UserHomeDir()
	if pgxFiles[parameter] == "" || err != nil {
		return ""
	}
	path := filepath.Join(home, pgxFiles[parameter])
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// serviceSettings returns what a service file, which pgx could read, says about a service.
func serviceSettings(file, name string) map[string]string {
	services, err := pgservicefile.ReadServicefile(file)
	if err != nil {
		return nil
	}
	service, err := services.GetService(name)
	if err != nil {
		return nil
	}
	return service.Settings
}
