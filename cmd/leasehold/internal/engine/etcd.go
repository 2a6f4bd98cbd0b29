package engine

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
)

// openEtcd opens an etcd cluster.
func openEtcd(raw string) (driver.Engine, func() error, error) {
	e, err := etcd.Open(raw)
	if wrong, ok := errors.AsType[*etcd.URLError](err); ok {
		mine := URLError(*wrong)
		return nil, nil, &mine
	}
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}
