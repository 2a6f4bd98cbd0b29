package redis

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Environment variables that say what the URL given to [Open] leaves out, so that no file and no command line
// needs to hold a password. What the URL does say counts.
const (
	EnvUser             = "LEASEHOLD_REDIS_USER"
	EnvPassword         = "LEASEHOLD_REDIS_PASSWORD"
	EnvSentinelUser     = "LEASEHOLD_REDIS_SENTINEL_USER"
	EnvSentinelPassword = "LEASEHOLD_REDIS_SENTINEL_PASSWORD"
)

// URLError says what is wrong with the URL given to [Open]. Nothing of user names, passwords, hosts and
// the values of parameters is ever part of it, also where the URL is so broken that a password
// stands where something else belongs.
type URLError struct {
	// Part is what is wrong, as in "scheme" or "parameter".
	Part string
	// Value is the name of the scheme or of the parameter, if Part is one of them and the name may be shown.
	Value string
	// Allowed says what may be given.
	Allowed string
}

// Error implements error.
func (e *URLError) Error() string {
	s := "redis engine: URL: " + e.Part
	if e.Value != "" {
		s += fmt.Sprintf(" %q", e.Value)
	}
	return s + " is not allowed: it must be " + e.Allowed
}

// urlShape is what a scheme leads to.
type urlShape int

const (
	oneServer urlShape = iota
	unixSocket
	behindSentinels
	clustered
)

// urlScheme is what the first word of a URL says.
type urlScheme struct {
	name  string
	shape urlShape
	tls   bool
}

var urlSchemes = []urlScheme{
	{"redis", oneServer, false},
	{"rediss", oneServer, true},
	{"redis+unix", unixSocket, false},
	{"redis+sentinel", behindSentinels, false},
	{"rediss+sentinel", behindSentinels, true},
	{"redis+cluster", clustered, false},
	{"rediss+cluster", clustered, true},
}

// target is what a URL says, checked. It holds passwords: it must not be printed.
type target struct {
	urlScheme
	addresses []string // host:port, the port filled in; or the path of the socket
	master    string   // the name under which sentinels know the master

	user, password                 string
	sentinelUser, sentinelPassword string

	db      int
	dbGiven bool
	pool    int // 0: the client's default

	dialTimeout, timeout time.Duration

	ca, cert, key, serverName string

	replicas     int
	replicasWait time.Duration
	opts         []Option
}

// Defaults of a client that Open makes. If the first server that is asked does not answer, a request of the library, which
// may take 5 s, has time for another one.
const (
	defaultDialTimeout  = 2 * time.Second
	defaultTimeout      = 3 * time.Second
	defaultReplicasWait = time.Second
)

// parseURL takes a URL apart. net/url is not used for the whole of it: it refuses lists of hosts, and quotes
// passwords in its errors.
func parseURL(raw string, getenv func(string) string) (*target, error) {
	name, rest, found := strings.Cut(raw, "://")
	at := slices.IndexFunc(urlSchemes, func(s urlScheme) bool { return s.name == name })
	switch {
	case !found || at < 0 && !plainScheme.MatchString(name):
		// What stands there may be a password.
		return nil, &URLError{Part: "a value without a scheme", Allowed: "one that begins with " + schemeNames(anyScheme)}
	case at < 0:
		return nil, &URLError{Part: "scheme", Value: name, Allowed: schemeNames(anyScheme)}
	case strings.Contains(rest, "#"):
		return nil, &URLError{Part: "a # in it", Allowed: "written as %23"}
	}
	t := &target{urlScheme: urlSchemes[at], dialTimeout: defaultDialTimeout, timeout: defaultTimeout, replicasWait: defaultReplicasWait}
	authority, path, query := splitURL(rest)
	userInfo, hosts := "", authority
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		userInfo, hosts = authority[:i], authority[i+1:]
	}
	// With an @ further on, what stands before it may be a password that contains an unescaped slash or question mark.
	suspect := userInfo == "" && strings.Contains(path+query, "@")
	if err := t.setUser(userInfo); err != nil {
		return nil, err
	}
	if err := t.setHosts(hosts); err != nil {
		return nil, err
	}
	if err := t.setPath(path); err != nil {
		return nil, err
	}
	if err := t.setParameters(query, suspect); err != nil {
		return nil, err
	}
	t.fillIn(getenv)
	return t, nil
}

var plainScheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

func schemeNames(those func(urlScheme) bool) string {
	var names []string
	for _, s := range urlSchemes {
		if those(s) {
			names = append(names, s.name+"://")
		}
	}
	return strings.Join(names, " or ")
}

// splitURL cuts what follows the scheme into authority, path (with its slash) and query.
func splitURL(rest string) (authority, path, query string) {
	rest, query, _ = strings.Cut(rest, "?")
	if i := strings.Index(rest, "/"); i >= 0 {
		return rest[:i], rest[i:], query
	}
	return rest, "", query
}

func (t *target) setUser(info string) error {
	user, password, _ := strings.Cut(info, ":")
	var err error
	if t.user, err = url.PathUnescape(user); err == nil {
		t.password, err = url.PathUnescape(password)
	}
	if err != nil { // which quotes it
		return &URLError{Part: "user name or password", Allowed: "percent-encoded: a % in it is written as %25"}
	}
	return nil
}

// setHosts reads HOST[:PORT] or a list of them. No value is ever shown: if the @ is missing, a
// password may stand here.
func (t *target) setHosts(list string) error {
	port := "6379"
	switch t.shape {
	case unixSocket:
		if list != "" {
			return &URLError{Part: "host", Allowed: "left out, as in redis+unix:///run/redis.sock"}
		}
		return nil
	case behindSentinels:
		port = "26379"
	case oneServer:
		if strings.Contains(list, ",") {
			return &URLError{Part: "list of hosts", Allowed: "one host, as in redis://localhost:6379; several servers are named by redis+sentinel:// or redis+cluster://"}
		}
	}
	for one := range strings.SplitSeq(list, ",") {
		address, err := hostPort(one, port)
		if err != nil {
			return err
		}
		if !slices.Contains(t.addresses, address) { // the time to try one that hangs is well spent once
			t.addresses = append(t.addresses, address)
		}
	}
	return nil
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

func hostPort(text, port string) (string, error) {
	host := text
	// The colons of an IPv6 address stand in brackets.
	if i := strings.LastIndex(text, ":"); i > strings.LastIndex(text, "]") {
		host, port = text[:i], text[i+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", &URLError{Part: "port", Allowed: "a number from 1 to 65535, as in localhost:6379 (and / ? # in a password must be written as %2F %3F %23)"}
	}
	if inner, bracket := strings.CutPrefix(host, "["); bracket {
		host = strings.TrimSuffix(inner, "]")
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() || host == inner {
			host = ""
		}
	} else if !hostName.MatchString(host) {
		host = ""
	}
	if host == "" {
		return "", &URLError{Part: "host", Allowed: "a name or an address, as in localhost, 10.0.0.1:6379 or [::1]:6379"}
	}
	return net.JoinHostPort(host, port), nil
}

// setPath reads what follows the hosts: the database, the name of the master, or the path of the socket.
func (t *target) setPath(path string) error {
	path = strings.TrimPrefix(path, "/")
	text, err := url.PathUnescape(path)
	switch t.shape {
	case oneServer:
		if path != "" && (err != nil || t.setDB(text) != "") {
			return &URLError{Part: "path", Allowed: "left out, or the number of the database, as in redis://localhost:6379/0"}
		}
	case unixSocket:
		if text == "" || err != nil {
			return &URLError{Part: "path", Allowed: "that of the socket, as in redis+unix:///run/redis.sock"}
		}
		t.addresses = []string{"/" + text}
	case behindSentinels:
		if text == "" || err != nil || strings.Contains(path, "/") {
			return &URLError{Part: "path", Allowed: "the name of the master, as in redis+sentinel://h1,h2,h3/mymaster"}
		}
		t.master = text
	case clustered:
		if path != "" {
			return &URLError{Part: "path", Allowed: "left out: a cluster has one database only"}
		}
	}
	return nil
}

// fillIn takes from the environment what the URL does not say.
func (t *target) fillIn(getenv func(string) string) {
	set := func(value *string, variable string) {
		if *value == "" {
			*value = getenv(variable)
		}
	}
	set(&t.user, EnvUser)
	set(&t.password, EnvPassword)
	if t.shape == behindSentinels {
		set(&t.sentinelUser, EnvSentinelUser)
		set(&t.sentinelPassword, EnvSentinelPassword)
	}
}

// urlParameter is one that a URL may have.
type urlParameter struct {
	name string
	on   func(s urlScheme) bool // which schemes have it
	// set returns what is allowed, if the value is not, and else nothing.
	set func(t *target, value string) (allowed string)
}

var urlParameters = []urlParameter{
	{"db", hasDatabases, (*target).setDB},
	{"prefix", anyScheme, func(t *target, text string) string { return t.option(WithPrefix(text)) }},
	{"max_ttl", anyScheme, durationOption(WithMaxTTL)},
	{"guard", anyScheme, switchOption("off", WithoutFailoverGuard)},
	{"replicas", anyScheme, number(0, 100, func(t *target) *int { return &t.replicas })},
	{"replicas_wait", anyScheme, duration(func(t *target) *time.Duration { return &t.replicasWait })},
	{"retention", anyScheme, durationOption(WithTokenRetention)},
	{"polling", anyScheme, switchOption("on", WithPolling)},
	{"dial_timeout", anyScheme, duration(func(t *target) *time.Duration { return &t.dialTimeout })},
	{"timeout", anyScheme, duration(func(t *target) *time.Duration { return &t.timeout })},
	{"pool", anyScheme, number(1, 10_000, func(t *target) *int { return &t.pool })},
	{"ca", hasTLS, file(func(t *target) *string { return &t.ca })},
	{"cert", hasTLS, file(func(t *target) *string { return &t.cert })},
	{"key", hasTLS, file(func(t *target) *string { return &t.key })},
	{"server_name", hasTLS, (*target).setServerName},
	{"sentinel_user", hasSentinels, func(t *target, text string) string { t.sentinelUser = text; return "" }},
	{"sentinel_password", hasSentinels, func(t *target, text string) string { t.sentinelPassword = text; return "" }},
}

func anyScheme(urlScheme) bool      { return true }
func hasTLS(s urlScheme) bool       { return s.tls }
func hasSentinels(s urlScheme) bool { return s.shape == behindSentinels }
func hasDatabases(s urlScheme) bool { return s.shape != clustered }

// option keeps an option for New, which has the last word on values.
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

func (t *target) setServerName(text string) (allowed string) {
	if !hostName.MatchString(text) {
		return "the name that stands in the server's certificate"
	}
	t.serverName = text
	return ""
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

func number(least, most int, field func(*target) *int) func(*target, string) string {
	return func(t *target, text string) string {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return fmt.Sprintf("a number from %d to %d", least, most)
		}
		*field(t) = n
		return ""
	}
}

func file(field func(*target) *string) func(*target, string) string {
	return func(t *target, text string) string {
		if text == "" {
			return "the path of a PEM file"
		}
		*field(t) = text
		return ""
	}
}

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

func parameterNames(list []urlParameter) string {
	said := make([]string, len(list))
	for i, p := range list {
		said[i] = p.name
	}
	return strings.Join(said, ", ")
}

// elsewhere says which schemes have a parameter, or nothing if none has.
func elsewhere(name string) string {
	at := slices.IndexFunc(urlParameters, func(p urlParameter) bool { return p.name == name })
	if at < 0 {
		return ""
	}
	return schemeNames(urlParameters[at].on)
}

// setParameters reads name=value pairs. Of a name that is not known nothing is shown if it may be a part of a password.
func (t *target) setParameters(query string, suspect bool) error {
	known := slices.DeleteFunc(slices.Clone(urlParameters), func(p urlParameter) bool { return !p.on(t.urlScheme) })
	values, err := url.ParseQuery(query)
	if err != nil { // which quotes it
		return &URLError{Part: "what follows the question mark", Allowed: "name=value pairs joined by &, percent-encoded"}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := slices.IndexFunc(known, func(p urlParameter) bool { return p.name == name })
		given := values[name]
		switch {
		case at < 0 && elsewhere(name) != "":
			return &URLError{Part: "parameter", Value: name, Allowed: "left out: it belongs to " + elsewhere(name)}
		case at < 0 && (suspect || !plainName.MatchString(name) || !strings.Contains(query, name+"=")):
			return &URLError{Part: "a parameter that is not known", Allowed: "one of " + parameterNames(known)}
		case at < 0:
			return &URLError{Part: "parameter", Value: name, Allowed: "one of " + parameterNames(known)}
		case len(given) > 1:
			return &URLError{Part: "parameter", Value: name, Allowed: "given once"}
		}
		if allowed := known[at].set(t, given[0]); allowed != "" {
			return &URLError{Part: "parameter", Value: name, Allowed: allowed}
		}
	}
	switch {
	case (t.cert == "") != (t.key == ""):
		return &URLError{Part: "only one of the parameters cert and key", Allowed: "both, or none"}
	case values.Has("replicas_wait") && !values.Has("replicas"):
		return &URLError{Part: "parameter", Value: "replicas_wait", Allowed: "left out, or next to replicas"}
	case !values.Has("replicas"):
		return nil
	}
	if allowed := t.option(WithReplicas(t.replicas, t.replicasWait)); allowed != "" {
		return &URLError{Part: "parameter", Value: "replicas_wait", Allowed: allowed}
	}
	return nil
}
