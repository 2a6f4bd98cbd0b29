package redisurl

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// shape is what kind of servers a scheme leads to.
type shape int

const (
	oneServer shape = iota
	unixSocket
	behindSentinels
	clustered
)

// shapeOf returns the shape by what follows the plus sign of a scheme.
func shapeOf(scheme string) shape {
	_, what, _ := strings.Cut(scheme, "+")
	return map[string]shape{"": oneServer, "unix": unixSocket, "sentinel": behindSentinels, "cluster": clustered}[what]
}

// Target is where a URL leads, and with which settings. It holds passwords and must not be printed.
type Target struct {
	engine    string // for errors
	scheme    string // of a single server without TLS, for errors
	shape     shape
	addresses []string // host:port, always with a port; or the path of the socket
	master    string   // the name under which Sentinels know the master

	user, password                 string
	sentinelUser, sentinelPassword string

	db      int
	dbGiven bool
	pool    int // 0: the client's default

	dialTimeout, timeout time.Duration

	tls engineurl.TLS
}

// setHosts reads HOST[:PORT] or a list of them. It never shows a value: if the @ is missing, a password may be here.
func (t *Target) setHosts(u *engineurl.URL, scheme string) (err error) {
	port := "6379"
	switch t.shape {
	case unixSocket:
		if u.Hosts != "" {
			return u.NotAllowed("host", "left out, as in "+scheme+"+unix:///run/redis.sock")
		}
		return nil
	case behindSentinels:
		port = "26379"
	case oneServer:
		if strings.Contains(u.Hosts, ",") {
			return u.NotAllowed("list of hosts", "one host, as in "+scheme+"://localhost:6379; "+
				"several servers are named by "+scheme+"+sentinel:// or "+scheme+"+cluster://")
		}
	}
	t.addresses, err = u.Addresses(port, "6379")
	return err
}

// setPath reads what follows the hosts: the database, the name of the master, or the path of the socket.
func (t *Target) setPath(u *engineurl.URL, scheme string) error {
	path := strings.TrimPrefix(u.Path, "/")
	text, err := url.PathUnescape(path)
	switch t.shape {
	case oneServer:
		if path != "" && (err != nil || t.setDB(text) != "") {
			return u.NotAllowed("path", "left out, or the number of the database, as in "+scheme+"://localhost:6379/0")
		}
	case unixSocket:
		if text == "" || err != nil {
			return u.NotAllowed("path", "that of the socket, as in "+scheme+"+unix:///run/redis.sock")
		}
		t.addresses = []string{"/" + text}
	case behindSentinels:
		if text == "" || err != nil || strings.Contains(path, "/") {
			return u.NotAllowed("path", "the name of the master, as in "+scheme+"+sentinel://h1,h2,h3/mymaster")
		}
		t.master = text
	case clustered:
		if path != "" {
			return u.NotAllowed("path", "left out: a cluster has one database only")
		}
	}
	return nil
}

func (t *Target) setDB(text string) (allowed string) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || t.dbGiven {
		return "the number of a database, 0 to 65535, and not be in the path as well"
	}
	t.db, t.dbGiven = int(n), true
	return ""
}
