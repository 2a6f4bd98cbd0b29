package lib

import (
	"context"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// LeaseholdZooKeeper is this library on its ZooKeeper engine.
var LeaseholdZooKeeper = Library{
	Name:   "leasehold zookeeper",
	Module: tree,
	On:     servers.OneZooKeeper,
	Ours:   true,
	Config: onServer + zkClient,
	Open: func(at Config) (Session, error) {
		e, err := zookeeper.New(context.Background(), at.Addrs, zookeeper.WithDialer(zkDial(at)))
		if err != nil {
			return nil, err
		}
		return newLeaseholdSession(at, e, e.Close), nil
	},
}
