//go:build long

package etcd_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// alike are the parts of the suite to which it makes no difference how many members there are.
var alike = []string{"/Names/", "/Listing/", "/Paging/", "/Leak/", "/Examine/"}

// The suite of all engines, on a cluster whose members are used by different engines.
func TestContractOnACluster(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	place := func(c *etcdserver.Cluster) drivertest.Place {
		return drivertest.Place{Open: func(t *testing.T) driver.Engine {
			if i := int(opened.Add(1)) % (len(c.Members) + 1); i < len(c.Members) {
				return engineOn(t, c.Members[i].Addr())
			}
			return engineOn(t, c.Addrs()...)
		}}
	}
	calm := quick
	calm.Election = 3 * time.Second // a change of leaders is not what is tested, but for where all of them crash
	c := etcdserver.ClusterForTest(t, 3, calm)
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Place {
			for _, part := range alike {
				if strings.Contains(t.Name(), part) {
					t.Skip("it is tested with one member")
				}
			}
			if !strings.HasSuffix(t.Name(), "/GrowOverCrash") { // the only one that crashes servers
				return place(c)
			}
			own := etcdserver.ClusterForTest(t, 3, quick)
			p := place(own)
			p.Restart = func(t *testing.T) {
				own.Kill()
				must(t, own.Restart())
			}
			return p
		},
		TTL:  1500 * time.Millisecond, // as with one member
		Late: 750 * time.Millisecond,
	})
}
