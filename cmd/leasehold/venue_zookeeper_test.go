//go:build unix

package main

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// openZooKeeper is a server on which anna makes nodes that nobody else may use: neither berta, nor one with another password, who is somebody else.
func openZooKeeper(t *testing.T) *site {
	s := zookeeperserver.ForTest(t, zookeeperserver.Config{Unsynced: true})
	return &site{
		url: "zookeeper://" + withPassword("anna") + s.Addr(),
		broken: map[string]string{
			"DOWN":     "zookeeper://" + withPassword("anna") + closed(t, 1)[0],
			"WRONG":    "zookeeper://anna:wrong-geheim@" + s.Addr(),
			"NORIGHTS": "zookeeper://" + withPassword("berta") + s.Addr(),
		},
	}
}
