//go:build !no_etcd && !no_servers

package engine

import (
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
)

// openEtcd opens an etcd cluster.
func openEtcd(raw string) (driver.Engine, func() error, error) { return opened(etcd.Open(raw)) }
