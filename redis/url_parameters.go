package redis

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// urlParameter is a parameter of URLs.
type urlParameter struct {
	name string
	on   func(s urlScheme) bool // which schemes have it
	// set returns what is valid if the value is not, and "" if it is.
	set func(t *target, value string) (allowed string)
}

var urlParameters = []urlParameter{
	{"db", hasDatabases, (*target).setDB},
	{"prefix", anyScheme, func(t *target, text string) string { return t.option(WithPrefix(text)) }},
	{"max_ttl", anyScheme, durationOption(WithMaxTTL)},
	{"guard", anyScheme, switchOption("off", WithoutFailoverGuard)},
	{"replicas", anyScheme, numberIn(0, 100, func(t *target) *int { return &t.replicas })},
	{"replicas_wait", anyScheme, duration(func(t *target) *time.Duration { return &t.replicasWait })},
	{"retention", anyScheme, durationOption(WithTokenRetention)},
	{"polling", anyScheme, switchOption("on", WithPolling)},
	{"dial_timeout", anyScheme, duration(func(t *target) *time.Duration { return &t.dialTimeout })},
	{"timeout", anyScheme, duration(func(t *target) *time.Duration { return &t.timeout })},
	{"pool", anyScheme, numberIn(1, 10_000, func(t *target) *int { return &t.pool })},
	{"ca", hasTLS, ofTLS("ca")},
	{"cert", hasTLS, ofTLS("cert")},
	{"key", hasTLS, ofTLS("key")},
	{"server_name", hasTLS, ofTLS("server_name")},
	{"sentinel_user", hasSentinels, func(t *target, text string) string { t.sentinelUser = text; return "" }},
	{"sentinel_password", hasSentinels, func(t *target, text string) string { t.sentinelPassword = text; return "" }},
}

func anyScheme(urlScheme) bool      { return true }
func hasTLS(s urlScheme) bool       { return s.tls }
func hasSentinels(s urlScheme) bool { return s.shape == behindSentinels }
func hasDatabases(s urlScheme) bool { return s.shape != clustered }

// option keeps an option for New. It returns what is valid if the option is not.
func (t *target) option(o Option) (allowed string) {
	if e, ok := errors.AsType[*OptionError](o(&config{})); ok {
		return e.Allowed
	}
	t.opts = append(t.opts, o)
	return ""
}

func (t *target) setDB(text string) (allowed string) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || t.dbGiven {
		return "the number of a database, 0 to 65535, and not be in the path as well"
	}
	t.db, t.dbGiven = int(n), true
	return ""
}

// ofTLS sets the TLS parameter of that name.
func ofTLS(name string) func(*target, string) string {
	return func(t *target, text string) string { return t.files.Set(name, text) }
}

const allowedDuration = "a duration above zero, as in 500ms, 30s or 168h"

func duration(field func(*target) *time.Duration) func(*target, string) string {
	return func(t *target, text string) string {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return allowedDuration
		}
		*field(t) = d
		return ""
	}
}

func durationOption(option func(time.Duration) Option) func(*target, string) string {
	return func(t *target, text string) string {
		d, err := time.ParseDuration(text)
		if err != nil {
			return allowedDuration
		}
		return t.option(option(d))
	}
}

func switchOption(word string, option func() Option) func(*target, string) string {
	return func(t *target, text string) string {
		if text != word {
			return word + ", or left out"
		}
		return t.option(option())
	}
}

func numberIn(lowest, highest int, field func(*target) *int) func(*target, string) string {
	return func(t *target, text string) string {
		n, err := strconv.Atoi(text)
		if err != nil || n < lowest || n > highest {
			return fmt.Sprintf("a number from %d to %d", lowest, highest)
		}
		*field(t) = n
		return ""
	}
}

// schemesWith returns the schemes that have a parameter, or "" if none has.
func schemesWith(name string) string {
	at := urlParameterAt(name)
	if at < 0 {
		return ""
	}
	return schemeNames(urlParameters[at].on)
}

func urlParameterAt(name string) int {
	return slices.IndexFunc(urlParameters, func(u urlParameter) bool { return u.name == name })
}

func (t *target) setParameters(p *engineurl.Parts) error {
	var known []string
	for _, u := range urlParameters {
		if u.on(t.urlScheme) {
			known = append(known, u.name)
		}
	}
	given := make(map[string]bool)
	fault := p.Parameters(known, schemesWith, func(name, value string) string {
		given[name] = true
		return urlParameters[urlParameterAt(name)].set(t, value)
	})
	if fault == nil {
		fault = t.files.Fault()
	}
	switch {
	case fault != nil:
		return (*URLError)(fault)
	case given["replicas_wait"] && !given["replicas"]:
		return &URLError{Part: "parameter", Value: "replicas_wait", Allowed: "left out, or next to replicas"}
	case !given["replicas"]:
		return nil
	}
	if allowed := t.option(WithReplicas(t.replicas, t.replicasWait)); allowed != "" {
		return &URLError{Part: "parameter", Value: "replicas_wait", Allowed: allowed}
	}
	return nil
}
