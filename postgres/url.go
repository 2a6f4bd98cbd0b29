package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// URLError says what is wrong with the URL that was given to [Open]. Its field Part says which part, as in "scheme" or
// "parameter", Value is the name of the scheme or of the parameter, if it may be shown, and Allowed says what is
// allowed. It never contains users, passwords, hosts or values of parameters.
type URLError = engineurl.Error

// parsedURL is what a URL says, checked. It contains the password: never print it.
type parsedURL struct {
	pool    *pgxpool.Config
	opts    []Option
	migrate bool
	pooled  bool     // connections go through a pooler
	forPgx  []string // parameters of pgx, percent-encoded

	secretFiles []string // that pgx has read
}

// pgxParameters are the allowed parameters of pgx and pgxpool, and settings of the session that do locks no harm.
// Anything else in a URL is a mistake: pgx would send it to the server as a setting, and a misspelled sslmode would be
// ignored.
var pgxParameters = []string{
	"host", "port", "user", "password", "dbname", "database", "passfile", "service", "servicefile",
	"connect_timeout", "target_session_attrs", "min_protocol_version", "max_protocol_version",
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcertmode", "sslsni", "sslnegotiation",
	"require_auth", "channel_binding", "krbspn", "krbsrvname",
	"default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity",
	"pool_max_conns", "pool_min_conns", "pool_min_idle_conns", "pool_max_conn_lifetime",
	"pool_max_conn_lifetime_jitter", "pool_max_conn_idle_time", "pool_health_check_period", "pool_ping_timeout",
	"application_name", "options", "statement_timeout", "lock_timeout",
	"default_transaction_isolation", "default_transaction_read_only",
}

// urlSyntax has the parameters of this engine, and those of pgx, which parsedURL keeps for pgx.
var urlSyntax = engineurl.Syntax[parsedURL]{
	Engine:  "postgres",
	Schemes: []string{"postgres", "postgresql"},
	Parameters: append([]engineurl.Parameter[parsedURL]{
		engineurl.Switch("guard", "off", func(t *parsedURL) { t.option(WithoutCrashGuard()) }),
		engineurl.Duration("max_ttl", func(t *parsedURL, d time.Duration) string { return t.option(WithMaxTTL(d)) }),
		engineurl.Switch("migrate", "off", func(t *parsedURL) { t.migrate = false }),
		engineurl.Switch("polling", "on", func(t *parsedURL) { t.pooled = true; t.option(WithPolling()) }),
		engineurl.Text("schema", func(t *parsedURL, text string) string { return t.option(WithSchema(text)) }),
	}, parametersForPgx()...),
}

func (t *parsedURL) option(o Option) (allowed string) {
	if e, ok := errors.AsType[*OptionError](o(&config{})); ok {
		return e.Allowed
	}
	t.opts = append(t.opts, o)
	return ""
}

func parametersForPgx() (all []engineurl.Parameter[parsedURL]) {
	for _, name := range pgxParameters {
		words := pgxWords[name]
		all = append(all, engineurl.Text(name, func(t *parsedURL, text string) (allowed string) {
			if words != nil && !slices.Contains(words, text) {
				return strings.Join(words, " or ") + whyWords[name]
			}
			t.forPgx = append(t.forPgx, name+"="+url.QueryEscape(text))
			return ""
		}))
	}
	return all
}

// isSet reports whether the URL sets a parameter of pgx.
func (t *parsedURL) isSet(name string) bool {
	return slices.ContainsFunc(t.forPgx, func(part string) bool { return strings.HasPrefix(part, name+"=") })
}

// parseURL takes out the parameters of this engine and leaves the rest to pgx.
func parseURL(raw string) (*parsedURL, error) {
	address, query, _ := strings.Cut(raw, "?")
	u, err := urlSyntax.Split(raw)
	switch {
	case err != nil:
		return nil, err
	case !strings.Contains(address, "@") && strings.Contains(query, "@"):
		return nil, u.NotAllowed("an @ behind a question mark",
			"written as %40, and a question mark in a password as %3F")
	case strings.Count(u.Authority, "@") > 1:
		// pgx takes what follows the first one for a host, and asks a name server for it.
		return nil, u.NotAllowed("a second @ before the host", "written as %40")
	}
	address = u.Scheme + address[len(u.Scheme):] // pgx does not know it in capitals
	t := &parsedURL{migrate: true}
	if err := urlSyntax.SetParameters(u, t); err != nil {
		return nil, err
	}
	t.pool, err = t.parseWithPgx(u, address)
	if err == nil && !t.isSet("sslmode") && !isAllLocal(t.pool.ConnConfig) {
		t.forPgx = append(t.forPgx, "sslmode=verify-full")
		t.pool, err = t.parseWithPgx(u, address)
	}
	if err != nil {
		return nil, err
	}
	if err := t.checkFiles(u.Password); err != nil {
		return nil, err
	}
	if trustsAnyAuthority(t.pool.ConnConfig) {
		return nil, u.BadParameter("sslmode", allowedVerifyCA)
	}
	if !t.isSet("require_auth") {
		protectPassword(t.pool.ConnConfig)
	}
	if t.pool.ConnConfig.ConnectTimeout == 0 && !t.isSet("connect_timeout") {
		t.pool.ConnConfig.ConnectTimeout = connectTimeout
	}
	if t.pooled && !t.isSet("default_query_exec_mode") {
		// A pooler may give each request another connection, which does not know the statements that were prepared on
		// another.
		t.pool.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return t, nil
}

// parseWithPgx has pgx parse the URL.
func (t *parsedURL) parseWithPgx(u *engineurl.URL, address string) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(address + "?" + strings.Join(t.forPgx, "&"))
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("postgres engine: URL: %w", file)
	}
	if err != nil {
		// The error of pgx may quote a part of a password.
		return nil, u.NotAllowed("something in it",
			"postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE][?PARAMETER=VALUE...], "+
				"percent-encoded, with the parameters of pgx and pgxpool")
	}
	return c, nil
}
