package work

import (
	"testing"
	"time"
)

func TestSpinLastsLongEnough(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond} {
		began := time.Now()
		spin(d)
		if took := time.Since(began); took < d {
			t.Errorf("%v took %v", d, took)
		}
	}
}
