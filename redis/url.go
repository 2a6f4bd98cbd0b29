package redis

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// URLError says what is wrong with a URL given to [Open]. Its field Part says which part, such as "scheme" or
// "parameter", Value is the name of the scheme or of the parameter, if it may be shown, and Allowed says what is valid.
// It never contains user names, passwords, hosts or values of parameters, even if the URL is so broken that a password
// is in the place of something else.
type URLError = engineurl.Error

// Environment variables for what the URL given to [Open] leaves out, so that no file or command line needs to hold a
// password. What the URL says takes precedence. Instead of a password, a variable of the same name with _FILE appended
// may name a file that holds it, on one line.
const (
	EnvUser             = "LEASEHOLD_REDIS_USER"
	EnvPassword         = "LEASEHOLD_REDIS_PASSWORD"
	EnvSentinelUser     = "LEASEHOLD_REDIS_SENTINEL_USER"
	EnvSentinelPassword = "LEASEHOLD_REDIS_SENTINEL_PASSWORD"
)

// urlShape is what kind of servers a scheme leads to.
type urlShape int

const (
	oneServer urlShape = iota
	unixSocket
	behindSentinels
	clustered
)

// urlShapes are the shapes by what follows "redis" or "rediss" in the scheme.
var urlShapes = map[string]urlShape{
	"": oneServer, "unix": unixSocket, "sentinel": behindSentinels, "cluster": clustered,
}

// target is a URL, parsed and checked. It holds passwords and must not be printed.
type target struct {
	shape     urlShape
	addresses []string // host:port, always with a port; or the path of the socket
	master    string   // the name under which Sentinels know the master

	user, password                 string
	sentinelUser, sentinelPassword string

	db      int
	dbGiven bool
	pool    int // 0: the client's default

	dialTimeout, timeout time.Duration

	tls engineurl.TLS

	replicas     int           // -1: not given
	replicasWait time.Duration // 0: not given
	opts         []Option
}

// Defaults of a client that Open makes. A request of the library may take 5 s. If the first server does not answer,
// these leave time to ask another one.
const (
	defaultDialTimeout  = 2 * time.Second
	defaultTimeout      = 3 * time.Second
	defaultReplicasWait = time.Second
)

// parseURL parses and checks a URL.
func parseURL(raw string, getenv func(string) string) (*target, error) {
	u, err := urlSyntax.Split(raw)
	if err != nil {
		return nil, err
	}
	_, shape, _ := strings.Cut(u.Scheme, "+")
	t := &target{
		shape: urlShapes[shape], dialTimeout: defaultDialTimeout, timeout: defaultTimeout, replicas: -1,
	}
	if err := t.setHosts(u); err != nil {
		return nil, err
	}
	if err := t.setPath(u); err != nil {
		return nil, err
	}
	if err := t.setParameters(u); err != nil {
		return nil, err
	}
	t.user, t.password, err = u.Login(getenv, EnvUser, EnvPassword)
	if err == nil && t.shape == behindSentinels {
		t.sentinelUser = cmp.Or(t.sentinelUser, getenv(EnvSentinelUser))
		t.sentinelPassword, err = u.OrSecret(t.sentinelPassword, getenv, EnvSentinelPassword)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// setHosts reads HOST[:PORT] or a list of them. It never shows a value: if the @ is missing, a password may be here.
func (t *target) setHosts(u *engineurl.URL) (err error) {
	port := "6379"
	switch t.shape {
	case unixSocket:
		if u.Hosts != "" {
			return u.NotAllowed("host", "left out, as in redis+unix:///run/redis.sock")
		}
		return nil
	case behindSentinels:
		port = "26379"
	case oneServer:
		if strings.Contains(u.Hosts, ",") {
			return u.NotAllowed("list of hosts", "one host, as in redis://localhost:6379; "+
				"several servers are named by redis+sentinel:// or redis+cluster://")
		}
	}
	t.addresses, err = u.Addresses(port, "6379")
	return err
}

// setPath reads what follows the hosts: the database, the name of the master, or the path of the socket.
func (t *target) setPath(u *engineurl.URL) error {
	path := strings.TrimPrefix(u.Path, "/")
	text, err := url.PathUnescape(path)
	switch t.shape {
	case oneServer:
		if path != "" && (err != nil || t.setDB(text) != "") {
			return u.NotAllowed("path", "left out, or the number of the database, as in redis://localhost:6379/0")
		}
	case unixSocket:
		if text == "" || err != nil {
			return u.NotAllowed("path", "that of the socket, as in redis+unix:///run/redis.sock")
		}
		t.addresses = []string{"/" + text}
	case behindSentinels:
		if text == "" || err != nil || strings.Contains(path, "/") {
			return u.NotAllowed("path", "the name of the master, as in redis+sentinel://h1,h2,h3/mymaster")
		}
		t.master = text
	case clustered:
		if path != "" {
			return u.NotAllowed("path", "left out: a cluster has one database only")
		}
	}
	return nil
}

func (t *target) setDB(text string) (allowed string) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || t.dbGiven {
		return "the number of a database, 0 to 65535, and not be in the path as well"
	}
	t.db, t.dbGiven = int(n), true
	return ""
}
