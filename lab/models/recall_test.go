//go:build long

package models

import "testing"

// A lock that lingers excludes, and its tokens grow, in all that can happen; and whoever recalls it gets it.
func TestRecallHolds(t *testing.T) {
	t.Parallel()
	needSpin(t)
	for _, defines := range []string{"", "HOLDS=5 USES=9 RANGE=2 TURNS=3 RECALLS=5"} {
		t.Run(defines, func(t *testing.T) {
			t.Parallel()
			mustHold(t, recall, small, defines)
		})
	}
}

// The model can do what it is about.
func TestRecallsHappen(t *testing.T) {
	t.Parallel()
	needSpin(t)
	wantReached(t, recall, "", 6)
}
