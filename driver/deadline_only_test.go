package driver

import (
	"context"
	"testing"
	"time"
)

type valueKey struct{}

// A context that is derived from a marked one can be cancelled, so it must not count as marked.
func TestMarkOfContextsThatOnlyADeadlineEnds(t *testing.T) {
	t.Parallel()
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	marked := DeadlineOnly(limited)
	derived, cancelDerived := context.WithCancel(marked)
	defer cancelDerived()
	for name, c := range map[string]struct {
		ctx  context.Context
		want bool
	}{
		"no mark":              {limited, false},
		"a mark":               {marked, true},
		"a mark and a value":   {context.WithValue(marked, valueKey{}, 1), true},
		"derived":              {derived, false},
		"derived and a value":  {context.WithValue(derived, valueKey{}, 1), false},
		"never ends":           {context.Background(), true},
		"without cancellation": {context.WithoutCancel(derived), true},
	} {
		if got := IsDeadlineOnly(c.ctx); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
