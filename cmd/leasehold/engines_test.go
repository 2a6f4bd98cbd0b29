//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// engineSetup is an engine to test, and the folders of the scripts to run on it.
type engineSetup struct {
	name    string
	open    func(t *testing.T) *testServers
	scripts []string
}

// testServers is a running engine.
type testServers struct {
	url string
	// broken are URLs, by name: $DOWN, where nothing answers; $WRONG, with a wrong password; $NORIGHTS, of a user
	// without enough rights; $HALF, of which too few servers answer; $CLOSED, which has no record of earlier use.
	broken  map[string]string
	servers []*redisserver.Server
	cluster bool // each key belongs to one of them
}

var engineSetups = []engineSetup{
	{"memory", func(*testing.T) *testServers { return &testServers{url: "memory:"} }, []string{"memory"}},
	{"sqlite", openSQLite, []string{"every", "sqlite"}},
	{"redis", openServer, []string{"every", "redis"}},
	{"cluster", openCluster, append([]string{"redis"}, onMore...)},
	{"redlock", openMajority, append([]string{"redis", "redlock"}, onMore...)},
	{"redisson", openRedisson, []string{"every", "redisson"}},
	{"redisson, fair", openFair, append([]string{"redisson"}, onMore...)},
	{"postgres", openPostgres, append([]string{"servers"}, onMore...)},
	{"etcd", openEtcd, append([]string{"servers"}, onMore...)},
	{"zookeeper", openZooKeeper, append([]string{"servers"}, onMore...)},
}

func openSQLite(t *testing.T) *testServers {
	dir := t.TempDir()
	corrupt := filepath.Join(dir, "corrupt.db")
	if err := os.WriteFile(corrupt, []byte(strings.Repeat("this is no database. ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	return &testServers{url: "sqlite:" + filepath.Join(dir, "locks.db"),
		broken: map[string]string{"DOWN": "sqlite:" + corrupt}}
}

func openServer(t *testing.T) *testServers {
	return redisServers(t, "redis://", unguarded, redisserver.ForTest(t, redisserver.Config{}))
}

func openCluster(t *testing.T) *testServers {
	nodes := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{}).Nodes
	s := redisServers(t, "redis+cluster://", unguarded, nodes...)
	s.cluster = true
	return s
}

func openRedisson(t *testing.T) *testServers {
	return redisServers(t, "redisson://", "", redisserver.ForTest(t, redisserver.Config{}))
}

// openFair opens the same engine with locks that are served in order.
func openFair(t *testing.T) *testServers {
	return redisServers(t, "redisson://", "lock=fair", redisserver.ForTest(t, redisserver.Config{}))
}

func openMajority(t *testing.T) *testServers {
	var servers []*redisserver.Server
	for range 3 {
		servers = append(servers, redisserver.ForTest(t, redisserver.Config{}))
	}
	// A server that is slow on a busy machine must not count as unavailable.
	const patient = unguarded + "&node_timeout=10s"
	s := redisServers(t, "redlock://", patient, servers...)
	s.broken["HALF"] = "redlock://" + strings.Join(append(closed(t, 2), servers[0].Addr()),
		",") + "?" + patient
	return s
}

// redisServers returns an engine on these servers. The default user may do everything. Another one has a password and
// no rights on the keys of locks.
func redisServers(t *testing.T, scheme, settings string, servers ...*redisserver.Server) *testServers {
	t.Helper()
	var at []string
	for _, s := range servers {
		redisCommand(t, s, "ACL", "SETUSER", "anna", "on", ">"+geheim, "~other:*", "&*", "+@all")
		at = append(at, s.Addr())
	}
	all := strings.Join(at, ",") + "?" + settings
	return &testServers{
		url: scheme + all, servers: servers,
		broken: map[string]string{
			"DOWN": scheme + withPassword("anna") + strings.Join(closed(t, len(servers)),
				",") + "?" + settings,
			"WRONG":    scheme + "anna:wrong-geheim@" + all,
			"NORIGHTS": scheme + withPassword("anna") + all,
			"CLOSED":   scheme + strings.Replace(all, unguarded, "prefix=closed:&max_ttl=1h", 1),
		},
	}
}

// closed returns addresses at which nothing answers: those of killed servers, whose ports stay reserved.
func closed(t *testing.T, n int) (at []string) {
	t.Helper()
	for range n {
		s := redisserver.ForTest(t, redisserver.Config{})
		s.Kill()
		at = append(at, s.Addr())
	}
	return at
}
