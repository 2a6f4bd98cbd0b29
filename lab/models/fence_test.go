//go:build long

package models

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// largeEnv is the variable that asks for the large sizes, too, if it is not empty. make models sets it.
const largeEnv = "LEASEHOLD_MODELS"

// mustHold lets Spin go through everything, and wants no error.
func mustHold(t *testing.T, model string, b bounds, defines string) {
	t.Helper()
	v := runSpin(t, model, b, defines)
	if v.failed != "" {
		t.Fatalf("after %d states this does not hold: %s. The last steps:\n%s", v.states, v.failed, v.trail(t))
	}
	t.Logf("%d states, %v", v.states, v.took.Round(time.Millisecond))
}

// The promises of the protocol hold in all that can happen, at sizes that take seconds.
func TestProtocolHolds(t *testing.T) {
	t.Parallel()
	needSpin(t)
	for name, defines := range map[string]string{
		"order":                        "FLOORS=2",
		"order, a node restarts":       "RESTARTS=1 FLOORS=1",
		"order, a late request":        "LATE=1 FLOORS=1",
		"order, a request comes twice": "REPEATS=1 FLOORS=1",
		"exclusion, a node restarts":   "TIMELY FLOORS=1 RESTARTS=1",
		"exclusion, a late request":    "TIMELY FLOORS=1 LATE=1",
		"exclusion, a late release":    "TIMELY FLOORS=1 BALLOTS=2 STALLED=1 ONCE AGAIN=1 LOST=0",
		"nothing is left behind":       "NOLEFTOVERS FLOORS=1 LATE=6",
		"order, with two of two nodes": "N=2 RESTARTS=1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustHold(t, fence, small, defines)
		})
	}
}

// The model can do what it is about. Otherwise no assertion would fail because nothing happens.
func TestThingsHappen(t *testing.T) {
	t.Parallel()
	needSpin(t)
	for _, defines := range []string{
		"PROBE=1",
		"PROBE=2",
		"PROBE=3 RESTARTS=1",
		"PROBE=4 LATE=1",
		"PROBE=5 RESTARTS=1 TIMELY FLOORS=1",
		"PROBE=6 TIMELY FLOORS=1",
		"PROBE=7 TIMELY FLOORS=1 BALLOTS=2 STALLED=1 ONCE AGAIN=1",
	} {
		t.Run(defines, func(t *testing.T) {
			t.Parallel()
			number := defines[len("PROBE="):][:1]
			wantFailed(t, fence, defines, probed(number))
		})
	}
}

// probed returns the assertion of the step with this number.
func probed(number string) string { return "(" + number + "!=" + number + ")" }

// wantReached expects that the steps of a model with the numbers from 1 on are reached.
func wantReached(t *testing.T, model, defines string, steps int) {
	t.Helper()
	for i := range steps {
		number := strconv.Itoa(i + 1)
		wantFailed(t, model, defines+"PROBE="+number, probed(number))
	}
}

var (
	large = bounds{
		optimise:  "-O2",
		compress:  exact,
		megabytes: 16_000,
		depth:     10_000_000,
		hash:      28,
		timeout:   12 * time.Hour,
	}

	// bitstate keeps three bits of each state, in a table of 8 GB. It may take a new state for a known one,
	// and leave out what follows. It is for sizes that fit into no memory.
	bitstate = bounds{
		optimise:  "-O2",
		compress:  "-DBITSTATE",
		megabytes: 16_000,
		depth:     10_000_000,
		hash:      36,
		timeout:   12 * time.Hour,
	}
)

// The same at sizes that take hours, one after the other, since each may need all of the memory.
func TestProtocolHoldsAtLargeSizes(t *testing.T) {
	if os.Getenv(largeEnv) == "" {
		t.Skipf("takes hours and 16 GB of memory: make models, or %s=1", largeEnv)
	}
	needSpin(t)
	for _, c := range []struct {
		name, defines string
		bounds        bounds
	}{
		{"order, three clocks", "FLOORS=3 RESTARTS=1", large},
		{"order, nodes restart twice", "RESTARTS=2", large},
		{"order, restarts and late requests", "RESTARTS=1 LATE=1", large},
		{"order, late and repeated requests", "FLOORS=1 LATE=2 REPEATS=2", large},
		{"exclusion, restarts and late requests", "TIMELY FLOORS=1 RESTARTS=2 LATE=1", large},
		{"exclusion, late releases", "TIMELY FLOORS=1 BALLOTS=2 STALLED=1 ONCE AGAIN=1", large},
		{"exclusion, late releases, renewals", "TIMELY FLOORS=1 BALLOTS=2 STALLED=1", large},
		{"order, four nodes", "N=4", large},
		{"nothing is left behind, three clients", "NOLEFTOVERS FLOORS=1 CLIENTS=3 LATE=2", large},
		{"exclusion, three clients", "TIMELY FLOORS=1 CLIENTS=3", large},
		{"order, three clients", "CLIENTS=3 FLOORS=1", large},
		{"order, three clients, two clocks", "CLIENTS=3", bitstate},
		{"order, five nodes", "N=5 FLOORS=1", bitstate},
	} {
		t.Run(c.name, func(t *testing.T) { mustHold(t, fence, c.bounds, c.defines) })
	}
}
