package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
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
//	min_validity    see WithMinValidity
//	few_nodes=on    accept one or two servers. A majority of two is both, so one that is down stops all
//
// All programs that share locks must name the servers by the same addresses.
//
// Open asks the servers what they are, as [New] does. A URL that is not allowed is a [*URLError]. No error shows a
// password.
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
	if err == nil {
		err = t.checkNumber()
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
		if wrong, ok := errors.AsType[*URLError](err); ok {
			err = urlSyntax.Own(wrong, t.scheme)
		}
		if err != nil {
			return nil, errors.Join(err, closeAll(engines))
		}
		engines = append(engines, e)
	}
	return engines, nil
}

// URLError is the error of a URL, as in package redis.
type URLError = engineurl.Error

// checkNumber refuses one or two servers, unless the URL allows them.
func (t *target) checkNumber() error {
	why := "the majority of two is both, so one server that is down stops all"
	switch {
	case len(t.hosts) > 2 || t.few:
		return nil
	case len(t.hosts) == 1:
		why = "one server is no majority of several, and redis:// does more with it"
	}
	return &URLError{Part: fmt.Sprintf("a list of fewer than three servers (%d)", len(t.hosts)), Engine: "redlock",
		Allowed: "three or five independent servers: " + why + ". few_nodes=on allows it all the same"}
}

// target is what a URL names.
type target struct {
	config
	few         bool // one or two servers are allowed
	scheme      string
	hosts, urls []string // by server
	parameters  []string // those of the servers, as given
}

var urlSyntax = engineurl.Syntax[target]{
	Engine:  "redlock",
	Schemes: []string{"redlock", "redlocks"},
	Parameters: []engineurl.Parameter[target]{
		engineurl.Duration("node_timeout", option(WithNodeTimeout)),
		engineurl.Duration("min_validity", option(WithMinValidity)),
		engineurl.Switch("few_nodes", "on", func(t *target) { t.few = true }),
	},
	Unknown: func(t *target, parameter string) { t.parameters = append(t.parameters, parameter) },
}

func option(with func(time.Duration) Option) func(*target, time.Duration) (allowed string) {
	return func(t *target, d time.Duration) string {
		if e, ok := errors.AsType[*OptionError](with(d)(&t.config)); ok {
			return e.Allowed
		}
		return ""
	}
}

func parse(raw string) (*target, error) {
	u, err := urlSyntax.Split(raw)
	if err != nil {
		return nil, err
	}
	t := &target{config: config{timeout: DefaultNodeTimeout}, scheme: u.Scheme}
	if err := urlSyntax.SetParameters(u, t); err != nil {
		return nil, err
	}
	scheme := map[string]string{"redlock": "redis://", "redlocks": "rediss://"}[u.Scheme]
	user := strings.TrimSuffix(u.Authority, u.Hosts) // with its @
	rest := u.Path
	if len(t.parameters) > 0 {
		rest += "?" + strings.Join(t.parameters, "&")
	}
	for host := range strings.SplitSeq(u.Hosts, ",") {
		t.hosts = append(t.hosts, host)
		t.urls = append(t.urls, scheme+user+host+rest)
	}
	return t, nil
}
