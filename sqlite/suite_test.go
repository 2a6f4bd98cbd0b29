package sqlite

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
)

// TestContract runs the suite of all engines, with several engines on one file, like those of several processes.
func TestContract(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Environment {
			path := newPath(t)
			boots := 0
			return drivertest.Environment{
				Open: func(t *testing.T) driver.Engine {
					c, err := machineClock()
					if err != nil {
						t.Fatal(err)
					}
					c.boot += string(rune('a' + boots))
					return openAt(t, path, c)
				},
				// Everything that was not flushed may be lost: see TestTokensSurvivePowerLoss.
				Restart: func(*testing.T) { boots++ },
			}
		},
		TTL: time.Second,
	})
}
