package redlock_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
)

// The suite of all engines, on an odd and an even number of servers.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4, 5} {
		t.Run(servs(n), func(t *testing.T) {
			t.Parallel()
			at := addresses(servers(t, n))
			drivertest.Run(t, drivertest.Harness{
				Start: func(*testing.T) drivertest.Place {
					return drivertest.Place{Open: func(t *testing.T) driver.Engine { return open(t, at, patient) }}
				},
				TTL: time.Second,
			})
		})
	}
}
