package etcd_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// environment is a server on which each engine has a client of its own, as other processes have.
func environment(s *etcdserver.Server) drivertest.Environment {
	return drivertest.Environment{Open: func(t *testing.T) driver.Engine { return engineOn(t, s.Addr()) }}
}

func TestContract(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, etcdserver.Config{Volatile: true})
	drivertest.Run(t, drivertest.Harness{
		Start:       func(*testing.T) drivertest.Environment { return environment(s) },
		TTL:         1500 * time.Millisecond,
		ExpiryDelay: 750 * time.Millisecond,
	})
}

// What a server has confirmed is on its disk.
func TestContractOverCrashes(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Environment {
			if !strings.HasSuffix(t.Name(), "Crash") { // only these tests crash the server
				t.Skip("the server need not crash for this")
			}
			s := etcdserver.ForTest(t, etcdserver.Config{})
			p := environment(s)
			p.Restart = func(t *testing.T) {
				s.Kill()
				must(t, s.Restart())
			}
			return p
		},
		TTL: time.Second,
	})
}
