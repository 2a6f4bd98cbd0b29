package redis

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

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

	files engineurl.TLS

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

// parseURL takes a URL apart.
func parseURL(raw string, getenv func(string) string) (*target, error) {
	name, rest, found := strings.Cut(raw, "://")
	at := slices.IndexFunc(urlSchemes, func(s urlScheme) bool { return s.name == name })
	switch {
	case !found || at < 0 && !plainScheme.MatchString(name):
		// What stands there may be a password.
		return nil, &URLError{Part: "a value without a scheme", Allowed: "one that begins with " + schemeNames(anyScheme)}
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
