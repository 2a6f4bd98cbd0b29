package lib

import (
	"errors"
	"strings"

	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// LeaseholdEtcd is this library on its etcd engine.
var LeaseholdEtcd = Library{
	Name:   "leasehold etcd",
	Module: tree,
	On:     servers.OneEtcd,
	Ours:   true,
	Config: onServer + "etcd.Open; where messages are counted, etcd.New with " + etcdClient,
	Open: func(at Config) (Session, error) {
		if at.Sent == nil {
			e, err := etcd.Open("etcd://" + strings.Join(at.Addrs, ","))
			if err != nil {
				return nil, err
			}
			return newLeaseholdSession(at, e, e.Close), nil
		}
		c, err := etcdClientTo(at)
		if err != nil {
			return nil, err
		}
		e, err := etcd.New(c)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return newLeaseholdSession(at, e, e.Close, c.Close), nil
	},
}
