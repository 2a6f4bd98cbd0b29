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

// parseURL takes our parameters out, and leaves the rest to pgx. net/url is not used for the whole of it: it refuses lists of hosts, and quotes passwords in
// its errors.
func parseURL(raw string) (*target, error) {
	if !strings.HasPrefix(raw, "postgres://") && !strings.HasPrefix(raw, "postgresql://") {
		return nil, &URLError{Part: "its beginning", Allowed: "postgres:// or postgresql://"}
	}
	t := &target{migrate: true}
	place, query, _ := strings.Cut(raw, "?")
	if !strings.Contains(place, "@") && strings.Contains(query, "@") {
		return nil, &URLError{Part: "an @ behind a question mark", Allowed: "written as %40, and a question mark in a password as %3F"}
	}
	var theirs, seen []string
	for part := range strings.SplitSeq(query, "&") {
		name, text, _ := strings.Cut(part, "=")
		set, ours := urlParameters[name]
		if !ours {
			theirs = append(theirs, part)
			continue
		}
		if slices.Contains(seen, name) {
			return nil, &URLError{"parameter", name, "given once"}
		}
		seen = append(seen, name)
		value, err := url.QueryUnescape(text)
		if err != nil {
			return nil, &URLError{"parameter", name, "percent-encoded"}
		}
		if allowed := set(t, value); allowed != "" {
			return nil, &URLError{"parameter", name, allowed}
		}
	}
	var err error
	t.pool, err = pgxpool.ParseConfig(place + "?" + strings.Join(theirs, "&"))
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("postgres engine: URL: %w", file)
	}
	if err != nil {
		// What pgx says of it may quote a part of a password.
		return nil, &URLError{Part: "something in it", Allowed: "postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE][?PARAMETER=VALUE...], percent-encoded, with the parameters of pgx and pgxpool"}
	}
	if t.pooled && !slices.ContainsFunc(theirs, func(part string) bool { return strings.HasPrefix(part, execMode) }) {
		// A pooler may give each request another connection, which knows nothing of what was prepared on the one before.
		t.pool.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return t, nil
}

const execMode = "default_query_exec_mode="
