//go:build mutants

package simulator

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// The schedules find each fault that is planted in the engine.
func TestMutantsAreFound(t *testing.T) { overlay.Find(t, mutants, "-schedules", "2000") }

// The schedules find each fault that is planted in the scripts. A fault that passed would show that
// they prove nothing about what it breaks.
func TestPlantedFaultsAreFound(t *testing.T) {
	const most = 2000
	for name, planted := range plantedFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= most; seed++ {
				if w := runSchedule(t, seed, planted); len(w.violations) > 0 {
					t.Logf("schedule %d: %s", seed, w.violations[0])
					return
				}
			}
			t.Errorf("%d schedules pass with this fault", most)
		})
	}
}
