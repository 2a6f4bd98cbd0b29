package work

import (
	"math"
	"testing"
	"time"
)

// All that grows is measured, at the smallest two sizes.
func TestGrowthIsMeasuredAtEachSize(t *testing.T) {
	t.Parallel()
	all, err := runner(t).Grow(t.Context(), 10, 100*time.Millisecond)
	if err != nil || len(all) != len(growthKinds) {
		t.Fatalf("%d of %d kinds, %v", len(all), len(growthKinds), err)
	}
	for i, g := range all {
		sizes := 0
		for _, size := range growthKinds[i].sizes {
			if size <= 10 {
				sizes++
			}
		}
		if g.Failed != "" || len(g.Points) != sizes {
			t.Errorf("%s: %d points, want %d; failed: %q", g.Name, len(g.Points), sizes, g.Failed)
		}
		for _, p := range g.Points {
			if !(p.Turns > 0) || math.IsNaN(float64(p.Server)) || !(p.Script > 0) || math.IsNaN(float64(p.Long)) {
				t.Errorf("%s: a figure is missing: %+v", g.Name, p)
			}
		}
	}
}
