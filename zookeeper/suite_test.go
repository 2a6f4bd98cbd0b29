package zookeeper

import (
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// TestContract runs the suite of all engines, with several sessions on one server, like those of several processes.
// Tests that restart the server have one of their own.
func TestContract(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Environment {
			if strings.HasSuffix(t.Name(), "Crash") {
				s := zookeeperserver.ForTest(t, zookeeperserver.Config{MaxSession: longSession})
				return drivertest.Environment{
					Open: func(t *testing.T) driver.Engine { return openAt(t, s, WithSessionTimeout(longSession)) },
					Restart: func(t *testing.T) {
						s.Kill()
						if err := s.Restart(); err != nil {
							t.Fatal(err)
						}
					},
				}
			}
			return drivertest.Environment{
				Open: func(t *testing.T) driver.Engine { return openAt(t, server(t), WithSessionTimeout(longSession)) },
			}
		},
		TTL:         1500 * time.Millisecond,
		ExpiryDelay: 750 * time.Millisecond,
	})
}
