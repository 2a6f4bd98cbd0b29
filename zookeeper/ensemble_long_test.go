//go:build long

package zookeeper_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// The suite of all engines, on an ensemble, where each engine starts its session on any of the servers.
func TestContractOnAnEnsemble(t *testing.T) {
	t.Parallel()
	e := zookeeperserver.EnsembleForTest(t, 3, zookeeperserver.Config{MaxSession: endlessTimeout, Unsynced: true})
	drivertest.Run(t, drivertest.Harness{
		Start: func(*testing.T) drivertest.Environment {
			return drivertest.Environment{
				Open: func(t *testing.T) driver.Engine { return engineOn(t, endlessTimeout, e.Addrs()...) },
			}
		},
		TTL:         1500 * time.Millisecond,
		ExpiryDelay: 750 * time.Millisecond,
	})
}
