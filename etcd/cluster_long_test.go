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

// independentOfSize lists parts of the suite for which the number of members makes no difference.
var independentOfSize = []string{"/Names/", "/Listing/", "/Paging/", "/Leak/", "/Examine/"}

// The suite of all engines, on a cluster whose members are used by different engines.
func TestContractOnACluster(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	environment := func(c *etcdserver.Cluster) drivertest.Environment {
		return drivertest.Environment{Open: func(t *testing.T) driver.Engine {
			if i := int(opened.Add(1)) % (len(c.Members) + 1); i < len(c.Members) {
				return engineOn(t, c.Members[i].Addr())
			}
			return engineOn(t, c.Addrs()...)
		}}
	}
	calm := fastConfig
	calm.Election = 3 * time.Second // changes of the leader are tested only where all members crash
	c := etcdserver.ClusterForTest(t, 3, calm)
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Environment {
			for _, part := range independentOfSize {
				if strings.Contains(t.Name(), part) {
					t.Skip("it is tested with one member")
				}
			}
			if !strings.HasSuffix(t.Name(), "Crash") { // only these tests crash servers
				return environment(c)
			}
			own := etcdserver.ClusterForTest(t, 3, fastConfig)
			p := environment(own)
			p.Restart = func(t *testing.T) {
				own.Kill()
				must(t, own.Restart())
			}
			return p
		},
		TTL:         1500 * time.Millisecond, // as with one member
		ExpiryDelay: 750 * time.Millisecond,
	})
}
