//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// venue is a kind of engine, and the folders of the scripts that run on it.
type venue struct {
	name    string
	open    func(t *testing.T) *site
	scripts []string
}

// site is an engine of that kind.
type site struct {
	url string
	// broken are URLs, by name: $DOWN, where nothing answers; $WRONG, with a wrong password; $NORIGHTS, of a user who may do too little; $HALF, of
	// which too few servers answer.
	broken  map[string]string
	servers []*redisserver.Server
	cluster bool // each key belongs to one of them
}

var venues = []venue{
	{"memory", func(*testing.T) *site { return &site{url: "memory:"} }, []string{"memory"}},
	{"sqlite", openSQLite, []string{"every", "sqlite"}},
	{"redis", openServer, []string{"every", "redis"}},
	{"cluster", openCluster, append([]string{"redis"}, onMore...)},
	{"redlock", openMajority, append([]string{"redis", "redlock"}, onMore...)},
	{"postgres", openPostgres, append([]string{"servers"}, onMore...)},
	{"etcd", openEtcd, append([]string{"servers"}, onMore...)},
	{"zookeeper", openZooKeeper, append([]string{"servers"}, onMore...)},
}

func openSQLite(t *testing.T) *site {
	dir := t.TempDir()
	corrupt := filepath.Join(dir, "corrupt.db")
	if err := os.WriteFile(corrupt, []byte(strings.Repeat("this is no database. ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	return &site{url: "sqlite:" + filepath.Join(dir, "locks.db"), broken: map[string]string{"DOWN": "sqlite:" + corrupt}}
}

func openServer(t *testing.T) *site {
	return redisSite(t, "redis://", "", redisserver.ForTest(t, redisserver.Config{}))
}

func openCluster(t *testing.T) *site {
	s := redisSite(t, "redis+cluster://", "", redisserver.ClusterForTest(t, 3, 0, redisserver.Config{}).Nodes...)
	s.cluster = true
	return s
}

func openMajority(t *testing.T) *site {
	var servers []*redisserver.Server
	for range 3 {
		servers = append(servers, redisserver.ForTest(t, redisserver.Config{}))
	}
	const patient = "&node_timeout=10s" // a server that is slow on a busy machine is none that is away
	s := redisSite(t, "redlock://", patient, servers...)
	s.broken["HALF"] = "redlock://" + strings.Join(append(closed(t, 2), servers[0].Addr()), ",") + "?" + unguarded + patient
	return s
}

// redisSite is an engine on servers. Besides the user that everybody is, there is one with a password, who may do nothing with the keys of locks.
func redisSite(t *testing.T, scheme, more string, servers ...*redisserver.Server) *site {
	t.Helper()
	var at []string
	for _, s := range servers {
		tell(t, s, "ACL", "SETUSER", "anna", "on", ">"+geheim, "~other:*", "&*", "+@all")
		at = append(at, s.Addr())
	}
	all := strings.Join(at, ",") + "?" + unguarded + more
	return &site{
		url: scheme + all, servers: servers,
		broken: map[string]string{
			"DOWN":     scheme + withPassword("anna") + strings.Join(closed(t, len(servers)), ",") + "?" + unguarded + more,
			"WRONG":    scheme + "anna:wrong-geheim@" + all,
			"NORIGHTS": scheme + withPassword("anna") + all,
		},
	}
}

// closed are addresses at which nobody answers: those of servers that were killed, whose ports stay reserved.
func closed(t *testing.T, n int) (at []string) {
	t.Helper()
	for range n {
		s := redisserver.ForTest(t, redisserver.Config{})
		s.Kill()
		at = append(at, s.Addr())
	}
	return at
}
