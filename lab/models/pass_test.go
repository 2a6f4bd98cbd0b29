//go:build long

package models

import "testing"

// While a holder passes a name to the first waiter, at most one holds, and tokens grow, in all that can happen.
func TestPassHolds(t *testing.T) {
	t.Parallel()
	needSpin(t)
	for _, defines := range []string{"RESTARTS=0", "FLOORS=1"} {
		t.Run(defines, func(t *testing.T) {
			t.Parallel()
			mustHold(t, pass, small, defines)
		})
	}
}

// The model can do what it is about.
func TestPassesHappen(t *testing.T) {
	t.Parallel()
	needSpin(t)
	wantReached(t, pass, "RESTARTS=0 ", 5)
}
