package memory_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

func TestContractOnAManualClock(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		Start: func(*testing.T) drivertest.Environment {
			clock := memory.NewManualClock(time.Unix(0, 0))
			engine := memory.New(memory.WithClock(clock))
			return drivertest.Environment{
				Open:    func(*testing.T) driver.Engine { return engine },
				Advance: clock.Advance,
			}
		},
	})
}

func TestContractOnTheRealClock(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		TTL: 200 * time.Millisecond,
		Start: func(*testing.T) drivertest.Environment {
			engine := memory.New()
			return drivertest.Environment{Open: func(*testing.T) driver.Engine { return engine }}
		},
	})
}
