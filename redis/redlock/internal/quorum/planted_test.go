//go:build mutants

package quorum

import (
	"testing"
	"time"
)

// The schedules find each fault that is planted in the nodes or in the engines. A fault that passes would
// show that they prove nothing about what it breaks.
func TestPlantedFaultsAreFound(t *testing.T) {
	const limit = 40000
	for name, planted := range map[string]fault{
		"a token is exposed before a majority stands at it": {nodes: nodeFaults{noRaise: true}},
		"a raise does not check the owner":                  {nodes: nodeFaults{raisesForOthers: true}},
		"release deletes what others hold":                  {nodes: nodeFaults{releasesOthers: true}},
		"a restarted node votes at once":                    {nodes: nodeFaults{votesAtOnce: true}},
		"a spare that has run for long votes at once":       {nodes: nodeFaults{closedByUptime: true}},
		"a missing counter is taken for zero":               {nodes: nodeFaults{noFloor: true}},
		"the time is not checked after the grants":          {engine: func(e *Engine) { e.MinValidity = -time.Hour }},
		"one less than a majority decides":                  {engine: func(e *Engine) { e.majority-- }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= limit; seed++ {
				if s := runSchedule(t, seed, planted); len(s.violations) > 0 {
					t.Logf("schedule %d: %s", seed, s.violations[0])
					return
				}
			}
			t.Errorf("%d schedules pass with this fault", limit)
		})
	}
}
