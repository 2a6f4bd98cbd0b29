//go:build mutants

package quorum

import (
	"testing"
	"time"
)

// Each fault that is planted in the places or in the engines is found by the schedules. One that is let through would show that they
// prove nothing about what it breaks.
func TestPlantedFaultsAreFound(t *testing.T) {
	const most = 15000
	for name, planted := range map[string]fault{
		"a token is exposed before a majority stands at it": {plant: plant{noRaise: true}},
		"raise without a look at the owner":                 {plant: plant{looseRaise: true}},
		"release deletes what others hold":                  {plant: plant{plainDelete: true}},
		"a restarted place votes at once":                   {plant: plant{noQuarantine: true}},
		"a spare that has run for long votes at once":       {plant: plant{byUptime: true}},
		"a missing counter is taken for zero":               {plant: plant{noFloor: true}},
		"no second look at the time":                        {engine: func(e *Engine) { e.Least = -time.Hour }},
		"one less than a majority decides":                  {engine: func(e *Engine) { e.need-- }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= most; seed++ {
				if w := runSchedule(t, seed, planted); len(w.wrong) > 0 {
					t.Logf("schedule %d: %s", seed, w.wrong[0])
					return
				}
			}
			t.Errorf("%d schedules pass with this fault", most)
		})
	}
}
