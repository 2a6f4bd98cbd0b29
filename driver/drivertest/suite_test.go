package drivertest_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// on returns a harness for engines that wrap one memory engine.
func on(t *testing.T, before func(*memory.Engine) driver.Engine) drivertest.Harness {
	t.Helper()
	return drivertest.Harness{
		Start: func(*testing.T) drivertest.Environment {
			clock := memory.NewManualClock(time.Unix(0, 0))
			engine := memory.New(memory.WithClock(clock))
			return drivertest.Environment{
				Open:    func(*testing.T) driver.Engine { return before(engine) },
				Advance: clock.Advance,
			}
		},
	}
}

// A Faulty without faults passes like the engine that it wraps.
func TestFaultyWithoutFaults(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, on(t, func(e *memory.Engine) driver.Engine {
		return drivertest.NewFaulty(e, func(drivertest.Op) drivertest.Fault { return drivertest.Fault{} })
	}))
}

// Several nodes that always agree are a Voter.
func TestNodesThatAgree(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, on(t, votes(nil)))
}

// The suite must also fit engines that answer slowly.
func TestFaultyWithDelays(t *testing.T) {
	t.Parallel()
	delays := func(op drivertest.Op) drivertest.Fault {
		delay := time.Duration(op.Seq%4) * 200 * time.Microsecond
		if op.Method == drivertest.Wait {
			// A late Wait leaves its place behind, which no engine may do.
			return drivertest.Fault{After: delay}
		}
		return drivertest.Fault{Before: delay, After: delay}
	}
	drivertest.Run(t, drivertest.Harness{
		TTL: 400 * time.Millisecond,
		Start: func(*testing.T) drivertest.Environment {
			engine := memory.New()
			return drivertest.Environment{Open: func(*testing.T) driver.Engine {
				return drivertest.NewFaulty(engine, delays)
			}}
		},
	})
}

// minimalEngine has nothing but the methods of an Engine, and nobody shares a lock there.
type minimalEngine struct{ driver.Engine }

func (minimalEngine) Abilities() driver.Abilities {
	return driver.Abilities{Name: "little", MaxTTL: time.Minute, MaxBatch: 3}
}

func (minimalEngine) Downgrade(context.Context, driver.Hold) error { return driver.ErrUnsupported }

func TestMinimalEngine(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, on(t, func(e *memory.Engine) driver.Engine { return minimalEngine{e} }))
}
