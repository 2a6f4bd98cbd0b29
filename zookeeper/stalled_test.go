package zookeeper

import (
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

func TestRequestsToAStalledServerEnd(t *testing.T) {
	t.Parallel()
	s := zookeeperserver.ForTest(t, zookeeperserver.Config{MaxSession: longSession})
	drivertest.RunStalled(t,
		func(t *testing.T) driver.Engine { return openAt(t, s, WithSessionTimeout(longSession)) },
		func(t *testing.T) {
			if err := s.Pause(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Resume(); err != nil {
					t.Error(err)
				}
			})
		}, 0)
}
