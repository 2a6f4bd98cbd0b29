//go:build unix

package main

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// openZooKeeper starts a server on which only anna may use the nodes that she creates. Neither berta nor a user anna
// with another password may.
func openZooKeeper(t *testing.T) *testServers {
	s := zookeeperserver.ForTest(t, zookeeperserver.Config{Unsynced: true})
	return &testServers{
		url: "zookeeper://" + withPassword("anna") + s.Addr(),
		broken: map[string]string{
			"DOWN":     "zookeeper://" + withPassword("anna") + closed(t, 1)[0],
			"WRONG":    "zookeeper://anna:wrong-geheim@" + s.Addr(),
			"NORIGHTS": "zookeeper://" + withPassword("berta") + s.Addr(),
		},
	}
}
