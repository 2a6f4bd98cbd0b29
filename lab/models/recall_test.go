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
	for _, number := range []string{"1", "2", "3", "4", "5", "6"} {
		v := runSpin(t, recall, small, "PROBE="+number)
		if want := "(" + number + "!=" + number + ")"; v.failed != want {
			t.Errorf("after %d states this does not hold: %q; want %q", v.states, v.failed, want)
		}
	}
}
