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
)

// URLError says what is wrong with the URL given to [Open]. Nothing of users, passwords, hosts and the values of parameters is ever part of it.
type URLError struct {
	// Part is what is wrong, as in "scheme" or "parameter".
	Part string
	// Value is the name of the parameter, if Part is one.
	Value string
	// Allowed says what may be given.
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

// target is what a URL says, checked. It holds a password: it must not be printed.
type target struct {
	pool    *pgxpool.Config
	opts    []Option
	migrate bool
	pooled  bool // the connections lead through a pooler
}

// urlParameters are ours. pgx and pgxpool know the others.
var urlParameters = map[string]func(t *target, value string) (allowed string){
	"schema":  func(t *target, value string) string { return t.option(WithSchema(value)) },
	"max_ttl": setMaxTTL,
	"polling": onlyValue("on", func(t *target) { t.opts, t.pooled = append(t.opts, WithPolling()), true }),
	"guard":   onlyValue("off", func(t *target) { t.opts = append(t.opts, WithoutCrashGuard()) }),
	"migrate": onlyValue("off", func(t *target) { t.migrate = false }),
}

func (t *target) option(o Option) (allowed string) {
	if e, ok := errors.AsType[*OptionError](o(&config{})); ok {
		return e.Allowed
	}
	t.opts = append(t.opts, o)
	return ""
}

func setMaxTTL(t *target, value string) (allowed string) {
	d, err := time.ParseDuration(value)
	if err != nil {
		return "a duration, as in 30s or 5m"
	}
	return t.option(WithMaxTTL(d))
}

func onlyValue(word string, set func(*target)) func(*target, string) string {
	return func(t *target, value string) string {
		if value != word {
			return word + ", or left out"
		}
		set(t)
		return ""
	}
}

// theirParameters are those of pgx and pgxpool, and settings of the session that locks can do with. Whatever else is in a URL is a mistake: the server would be
// told of it as a setting, and a misspelled sslmode would count for nothing.
var theirParameters = []string{
	"host", "port", "user", "password", "dbname", "database", "passfile", "service", "servicefile",
	"connect_timeout", "target_session_attrs", "min_protocol_version", "max_protocol_version",
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcertmode", "sslsni", "sslnegotiation",
	"require_auth", "channel_binding", "krbspn", "krbsrvname",
	"default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity",
	"pool_max_conns", "pool_min_conns", "pool_min_idle_conns", "pool_max_conn_lifetime", "pool_max_conn_lifetime_jitter", "pool_max_conn_idle_time",
	"pool_health_check_period", "pool_ping_timeout",
	"application_name", "options", "statement_timeout", "lock_timeout", "default_transaction_isolation", "default_transaction_read_only",
}

// parseURL takes our parameters out, and leaves the rest to pgx. net/url is not used for the whole of it: it refuses lists of hosts, and quotes passwords in
// its errors.
func parseURL(raw string) (*target, error) {
	_, rest, found := strings.Cut(raw, "://")
	if !found || !strings.HasPrefix(raw, "postgres://") && !strings.HasPrefix(raw, "postgresql://") {
		return nil, &URLError{Part: "its beginning", Allowed: "postgres:// or postgresql://"}
	}
	t := &target{migrate: true}
	place, query, _ := strings.Cut(raw, "?")
	authority, _, _ := strings.Cut(strings.TrimSuffix(rest, "?"+query), "/")
	switch {
	case !strings.Contains(place, "@") && strings.Contains(query, "@"):
		return nil, &URLError{Part: "an @ behind a question mark", Allowed: "written as %40, and a question mark in a password as %3F"}
	case strings.Count(authority, "@") > 1:
		// pgx takes what is behind the first one for a host, and asks others where that is.
		return nil, &URLError{Part: "a second @ before the host", Allowed: "written as %40"}
	}
	theirs, err := t.parameters(query, strings.Contains(query+strings.TrimPrefix(rest, authority), "@"))
	if err != nil {
		return nil, err
	}
	said := func(name string) bool {
		return slices.ContainsFunc(theirs, func(part string) bool { return strings.HasPrefix(part, name+"=") })
	}
	t.pool, err = parseTheirs(place, theirs)
	if err == nil && !said("sslmode") && !allLocal(t.pool.ConnConfig) {
		t.pool, err = parseTheirs(place, append(theirs, "sslmode=verify-full"))
	}
	if err != nil {
		return nil, err
	}
	if !said("require_auth") {
		keepPassword(t.pool.ConnConfig)
	}
	if t.pooled && !said("default_query_exec_mode") {
		// A pooler may give each request another connection, which knows nothing of what was prepared on the one before.
		t.pool.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return t, nil
}

// parameters reads ours, and returns the others. If the URL is suspect, a part of a password may stand where a name belongs.
func (t *target) parameters(query string, suspect bool) (theirs []string, err error) {
	var seen []string
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, text, assigned := strings.Cut(part, "=")
		set, ours := urlParameters[name]
		switch {
		case !ours && !slices.Contains(theirParameters, name) && (suspect || !assigned || !plainName.MatchString(name)):
			return nil, &URLError{Part: "a parameter that is not known", Allowed: allowedParameters}
		case !ours && !slices.Contains(theirParameters, name):
			return nil, &URLError{"parameter", name, allowedParameters}
		case slices.Contains(seen, name):
			return nil, &URLError{"parameter", name, "given once"}
		case name == "sslmode" && !slices.Contains(sslModes, text):
			return nil, &URLError{"parameter", name, strings.Join(sslModes, " or ") + ": with allow and prefer the server could choose to be sent everything in clear"}
		}
		seen = append(seen, name)
		if !ours {
			theirs = append(theirs, part)
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
	return theirs, nil
}

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// allowedParameters are all of them, for messages.
var allowedParameters = "one of " + strings.Join(append(slices.Sorted(maps.Keys(urlParameters)), theirParameters...), ", ")

// parseTheirs has pgx read the URL.
func parseTheirs(place string, parameters []string) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(place + "?" + strings.Join(parameters, "&"))
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("postgres engine: URL: %w", file)
	}
	if err != nil {
		// What pgx says of it may quote a part of a password.
		return nil, &URLError{Part: "something in it", Allowed: "postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE][?PARAMETER=VALUE...], percent-encoded, with the parameters of pgx and pgxpool"}
	}
	return c, nil
}
