package redlock_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
)

func TestRequestsToStalledServersEnd(t *testing.T) {
	t.Parallel()
	all := servers(t, 3)
	drivertest.RunStalled(t,
		func(t *testing.T) driver.Engine { return open(t, addresses(all)) },
		func(t *testing.T) {
			for _, s := range all {
				if err := s.Pause(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Resume() })
			}
		}, 0)
}
