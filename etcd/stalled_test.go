package etcd_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

func TestRequestsToAStalledServerEnd(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, etcdserver.Config{Volatile: true})
	drivertest.RunStalled(t,
		func(t *testing.T) driver.Engine { return engineOn(t, s.Addr()) },
		func(t *testing.T) {
			must(t, s.Pause())
			t.Cleanup(func() { must(t, s.Resume()) })
		}, 0)
}
