package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// URLError says what is wrong with the URL that was given to [Open]. It never contains users, passwords, hosts or
// values of parameters.
type URLError struct {
	// Part is what is wrong, as in "scheme" or "parameter".
	Part string
	// Value is the name of the parameter, if Part is one.
	Value string
	// Allowed says what is allowed.
	Allowed string
}

// Error implements error.
func (e *URLError) Error() string {
	s := "postgres engine: URL: " + e.Part
	if e.Value != "" {
		s += fmt.Sprintf(" %q", e.Value)
	}
	return s + " is not allowed: it must be " + e.Allowed
}

// parsedURL is what a URL says, checked. It contains the password: never print it.
type parsedURL struct {
	pool    *pgxpool.Config
	opts    []Option
	migrate bool
	pooled  bool // connections go through a pooler
}

// engineParameters are the parameters of this engine. All others are those of pgx and pgxpool.
var engineParameters = map[string]func(t *parsedURL, value string) (allowed string){
	"schema":  func(t *parsedURL, value string) string { return t.option(WithSchema(value)) },
	"max_ttl": setMaxTTL,
	"polling": fixedValue("on", func(t *parsedURL) { t.opts, t.pooled = append(t.opts, WithPolling()), true }),
	"guard":   fixedValue("off", func(t *parsedURL) { t.opts = append(t.opts, WithoutCrashGuard()) }),
	"migrate": fixedValue("off", func(t *parsedURL) { t.migrate = false }),
}

func (t *parsedURL) option(o Option) (allowed string) {
	if e, ok := errors.AsType[*OptionError](o(&config{})); ok {
		return e.Allowed
	}
	t.opts = append(t.opts, o)
	return ""
}

func setMaxTTL(t *parsedURL, value string) (allowed string) {
	d, err := time.ParseDuration(value)
	if err != nil {
		return "a duration, as in 30s or 5m"
	}
	return t.option(WithMaxTTL(d))
}

func fixedValue(word string, set func(*parsedURL)) func(*parsedURL, string) string {
	return func(t *parsedURL, value string) string {
		if value != word {
			return word + ", or left out"
		}
		set(t)
		return ""
	}
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

// parseURL takes out the parameters of this engine and leaves the rest to pgx. It does not parse the whole URL with
// net/url, which refuses lists of hosts and quotes passwords in its errors.
func parseURL(raw string) (*parsedURL, error) {
	_, rest, found := strings.Cut(raw, "://")
	if !found || !strings.HasPrefix(raw, "postgres://") && !strings.HasPrefix(raw, "postgresql://") {
		return nil, &URLError{Part: "its beginning", Allowed: "postgres:// or postgresql://"}
	}
	t := &parsedURL{migrate: true}
	address, query, _ := strings.Cut(raw, "?")
	authority, _, _ := strings.Cut(strings.TrimSuffix(rest, "?"+query), "/")
	switch {
	case !strings.Contains(address, "@") && strings.Contains(query, "@"):
		return nil, &URLError{
			Part:    "an @ behind a question mark",
			Allowed: "written as %40, and a question mark in a password as %3F",
		}
	case authority != "" && strings.Contains(strings.TrimPrefix(strings.TrimSuffix(rest, "?"+query), authority), "@"):
		return nil, (*URLError)(&engineurl.Slash)
	case engineurl.IsList(authority[:max(strings.LastIndex(authority, "@"), 0)]):
		return nil, (*URLError)(&engineurl.OneUser)
	case strings.Count(authority, "@") > 1:
		// pgx takes what follows the first one for a host, and asks a name server for it.
		return nil, &URLError{Part: "a second @ before the host", Allowed: "written as %40"}
	}
	forPgx, err := t.parameters(query, strings.Contains(query+strings.TrimPrefix(rest, authority), "@"))
	if err != nil {
		return nil, err
	}
	isSet := func(name string) bool {
		return slices.ContainsFunc(forPgx, func(part string) bool { return strings.HasPrefix(part, name+"=") })
	}
	t.pool, err = parseWithPgx(address, forPgx)
	if err == nil && !isSet("sslmode") && !isAllLocal(t.pool.ConnConfig) {
		t.pool, err = parseWithPgx(address, append(forPgx, "sslmode=verify-full"))
	}
	if err != nil {
		return nil, err
	}
	if trustsAnyAuthority(t.pool.ConnConfig) {
		return nil, &URLError{"parameter", "sslmode", allowedVerifyCA}
	}
	if !isSet("require_auth") {
		protectPassword(t.pool.ConnConfig)
	}
	if t.pooled && !isSet("default_query_exec_mode") {
		// A pooler may give each request another connection, which does not know the statements that were prepared on
		// another.
		t.pool.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return t, nil
}

// parameters applies the parameters of this engine and returns the others. If the URL is suspect, a part of a password
// may stand in the place of a name, so errors do not quote names.
func (t *parsedURL) parameters(query string, suspect bool) (forPgx []string, err error) {
	var seen []string
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, text, assigned := strings.Cut(part, "=")
		set, ours := engineParameters[name]
		known := ours || slices.Contains(pgxParameters, name)
		switch {
		case !known && (suspect || !assigned || !parameterName.MatchString(name)):
			return nil, &URLError{Part: "a parameter that is not known", Allowed: allowedParameters}
		case !known:
			return nil, &URLError{"parameter", name, allowedParameters}
		case slices.Contains(seen, name):
			return nil, &URLError{"parameter", name, "given once"}
		case allowedValues[name] != nil && !slices.Contains(allowedValues[name], text):
			return nil, &URLError{"parameter", name, strings.Join(allowedValues[name], " or ")}
		case name == "sslmode" && !slices.Contains(sslModes, text):
			return nil, &URLError{"parameter", name, strings.Join(sslModes, " or ") +
				": with allow and prefer the server could choose to be sent everything in clear"}
		}
		seen = append(seen, name)
		if !ours {
			forPgx = append(forPgx, part)
			continue
		}
		value, err := url.QueryUnescape(text)
		if err != nil {
			return nil, &URLError{"parameter", name, "percent-encoded"}
		}
		if allowed := set(t, value); allowed != "" {
			return nil, &URLError{"parameter", name, allowed}
		}
	}
	return forPgx, nil
}

var parameterName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// allowedParameters lists all of them, for messages.
var allowedParameters = "one of " +
	strings.Join(append(slices.Sorted(maps.Keys(engineParameters)), pgxParameters...), ", ")

// parseWithPgx has pgx parse the URL.
func parseWithPgx(address string, parameters []string) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(address + "?" + strings.Join(parameters, "&"))
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("postgres engine: URL: %w", file)
	}
	if err != nil {
		// The error of pgx may quote a part of a password.
		return nil, &URLError{
			Part: "something in it",
			Allowed: "postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE][?PARAMETER=VALUE...], " +
				"percent-encoded, with the parameters of pgx and pgxpool",
		}
	}
	return c, nil
}
