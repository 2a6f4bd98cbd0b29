package redlock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/redis"
)

// Open returns an engine with clients of its own, which [Engine.Close] closes. The URL is
//
//	redlock://[USER[:PASSWORD]@]HOST[:PORT],HOST[:PORT]...[/DB]
//
// with redlocks instead of redlock for TLS. User, password, database and parameters are the same for all servers. They
// are those of [redis.Open], which may also come from the environment, and these:
//
//	node_timeout    see WithNodeTimeout
//	least_validity  see WithLeastValidity
//
// All programs that share locks must write the servers in the same way.
//
// Open asks the servers what they are, as [New] does. A URL that is not allowed is a [*redis.URLError]. No
// error shows a password.
func Open(ctx context.Context, rawURL string) (*Engine, error) {
	t, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	engines, err := t.open()
	for i, host := range t.hosts {
		if err == nil && slices.Contains(t.hosts[:i], host) {
			err = &SameServerError{host, host}
		}
	}
	if err != nil {
		return nil, errors.Join(err, closeAll(engines))
	}
	return newEngine(ctx, engines, t.hosts, t.config)
}

// open returns an engine for each server, or none.
func (t *target) open() ([]*redis.Engine, error) {
	var engines []*redis.Engine
	for _, url := range t.urls {
		e, err := redis.Open(url)
		if err != nil {
			return nil, errors.Join(err, closeAll(engines))
		}
		engines = append(engines, e)
	}
	return engines, nil
}

// target is what a URL names.
type target struct {
	config
	hosts, urls []string // by server
}

// schemes maps the schemes of this engine to those of the engine on one server.
var schemes = map[string]string{"redlock": "redis", "redlocks": "rediss"}

func parse(raw string) (*target, error) {
	name, rest, found := strings.Cut(raw, "://")
	scheme, known := schemes[name]
	if !found || !known {
		return nil, &redis.URLError{ // which does not show the value: it may be a password
			Part: "a value without its scheme", Allowed: "one that begins with redlock:// or redlocks://"}
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.Index(rest, "/"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	user, hosts := "", authority
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		user, hosts = authority[:i+1], authority[i+1:]
	}
	t := &target{config: config{timeout: DefaultNodeTimeout}}
	query, err := t.parameters(query)
	if err != nil {
		return nil, err
	}
	for host := range strings.SplitSeq(hosts, ",") {
		t.hosts = append(t.hosts, host)
		t.urls = append(t.urls, scheme+"://"+user+host+path+query)
	}
	return t, nil
}

// parameters sets the parameters of this engine, and returns those of the servers behind a question mark.
func (t *target) parameters(query string) (string, error) {
	var others []string
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		option := map[string]func(time.Duration) Option{
			"node_timeout": WithNodeTimeout, "least_validity": WithLeastValidity,
		}[name]
		switch {
		case option == nil && pair != "":
			others = append(others, pair)
		case option == nil:
		case seen[name]:
			return "", &redis.URLError{Part: "parameter", Value: name, Allowed: "given once"}
		default:
			seen[name] = true
			d, err := time.ParseDuration(value)
			if err == nil {
				err = option(d)(&t.config)
			}
			if err != nil {
				allowed := "a time like 500ms"
				if wrong, ok := errors.AsType[*OptionError](err); ok {
					allowed = wrong.Allowed
				}
				return "", &redis.URLError{Part: "parameter", Value: name, Allowed: allowed}
			}
		}
	}
	if len(others) == 0 {
		return "", nil
	}
	return "?" + strings.Join(others, "&"), nil
}
