package redis

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// urlShape is what kind of servers a scheme leads to.
type urlShape int

const (
	oneServer urlShape = iota
	unixSocket
	behindSentinels
	clustered
)

// urlScheme is a scheme of URLs.
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

// target is a URL, parsed and checked. It holds passwords and must not be printed.
type target struct {
	urlScheme
	addresses []string // host:port, always with a port; or the path of the socket
	master    string   // the name under which Sentinels know the master

	user, password                 string
	sentinelUser, sentinelPassword string

	db      int
	dbGiven bool
	pool    int // 0: the client's default

	dialTimeout, timeout time.Duration

	files engineurl.TLS

	replicas     int
	replicasWait time.Duration
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
	name, rest, found := strings.Cut(raw, "://")
	at := slices.IndexFunc(urlSchemes, func(s urlScheme) bool { return s.name == name })
	switch {
	case !found || at < 0 && !plainScheme.MatchString(name):
		// A password may be there.
		allowed := "one that begins with " + schemeNames(anyScheme)
		return nil, &URLError{Part: "a value without a scheme", Allowed: allowed}
	case at < 0:
		return nil, &URLError{Part: "scheme", Value: name, Allowed: schemeNames(anyScheme)}
	}
	p, fault := engineurl.Split(rest)
	if fault != nil {
		return nil, (*URLError)(fault)
	}
	t := &target{
		urlScheme: urlSchemes[at], user: p.User, password: p.Password,
		dialTimeout: defaultDialTimeout, timeout: defaultTimeout, replicasWait: defaultReplicasWait,
	}
	if err := t.setHosts(&p); err != nil {
		return nil, err
	}
	if err := t.setPath(p.Path); err != nil {
		return nil, err
	}
	if err := t.setParameters(&p); err != nil {
		return nil, err
	}
	if err := t.fillIn(getenv); err != nil {
		return nil, err
	}
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
