package drivertest_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// on returns a harness for engines that stand before one memory engine.
func on(t *testing.T, before func(*memory.Engine) driver.Engine) drivertest.Harness {
	t.Helper()
	return drivertest.Harness{
		Start: func(*testing.T) drivertest.Place {
			clock := memory.NewManualClock(time.Unix(0, 0))
			engine := memory.New(memory.WithClock(clock))
			return drivertest.Place{
				Open:    func(*testing.T) driver.Engine { return before(engine) },
				Advance: clock.Advance,
			}
		},
	}
}

// A Faulty without faults is as good as the engine behind it.
func TestFaultyWithoutFaults(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, on(t, func(e *memory.Engine) driver.Engine {
		return drivertest.NewFaulty(e, func(drivertest.Op) drivertest.Fault { return drivertest.Fault{} })
	}))
}

// Several places that always agree are a Voter.
func TestPlacesThatAgree(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, on(t, votes(nil)))
}

// The suite must also fit engines that answer slowly.
func TestFaultyWithDelays(t *testing.T) {
	t.Parallel()
	delays := func(op drivertest.Op) drivertest.Fault {
		delay := time.Duration(op.Seq%4) * 200 * time.Microsecond
		if op.Method == drivertest.Wait {
			// A Wait that is late leaves its place behind: no engine may do that.
			return drivertest.Fault{After: delay}
		}
		return drivertest.Fault{Before: delay, After: delay}
	}
	drivertest.Run(t, drivertest.Harness{
		TTL: 400 * time.Millisecond,
		Start: func(*testing.T) drivertest.Place {
			engine := memory.New()
			return drivertest.Place{Open: func(*testing.T) driver.Engine {
				return drivertest.NewFaulty(engine, delays)
			}}
		},
	})
}

// little is an engine with nothing but the five methods.
type little struct{ driver.Engine }

func (little) Abilities() driver.Abilities {
	return driver.Abilities{Name: "little", MaxTTL: time.Minute, MaxBatch: 3}
}

func TestEngineThatCanLittle(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, on(t, func(e *memory.Engine) driver.Engine { return little{e} }))
}
