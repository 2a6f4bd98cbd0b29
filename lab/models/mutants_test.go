//go:build mutants

package models

import "testing"

// Each way to break the protocol is found, by the assertion that it breaks, as pan writes it.
func TestMutantsFail(t *testing.T) {
	t.Parallel()
	needSpin(t)
	const (
		larger      = "(m>before)"
		unique      = "!(((used>>m)&1))"
		exclusion   = "(holder==0)"
		nothingLeft = "(owner[k]==0)"
	)
	for _, c := range []struct{ defines, failed string }{
		{"UNCOND", unique},
		{"LOOSE REPEATS=1", unique},
		{"ABOVE", unique},
		{"SKIPWB", unique},
		{"HALF N=4", unique},
		{"AMNESIA RESTARTS=1", unique},
		{"NOQUARANTINE RESTARTS=1", unique},
		{"NOFLOOR RESTARTS=1", larger},
		{"HALF N=4 TIMELY FLOORS=1", exclusion},
		{"AMNESIA RESTARTS=1 TIMELY FLOORS=1", exclusion},
		{"NOQUARANTINE RESTARTS=1 TIMELY FLOORS=1", exclusion},
		{"WEAKRENEW RESTARTS=1 TIMELY FLOORS=1", exclusion},
		{"PLAINDEL CLIENTS=3 TIMELY FLOORS=1", exclusion},
		{"STRAY NOLEFTOVERS FLOORS=1 LATE=1", nothingLeft},
		{"SAMEOWNER TIMELY FLOORS=1 BALLOTS=2 STALLED=1 ONCE AGAIN=1 LOST=3", exclusion},
	} {
		t.Run(c.defines, func(t *testing.T) {
			t.Parallel()
			wantFailed(t, fence, c.defines, c.failed)
		})
	}
}

// Each way to break the passing of a name is found.
func TestPassMutantsFail(t *testing.T) {
	t.Parallel()
	needSpin(t)
	const (
		exclusion = "(holder==0)"
		unique    = "!(((used>>token)&1))"
	)
	wantBroken(t, pass, map[string]string{
		"TOOFEW RESTARTS=0":   unique,
		"UNSURE RESTARTS=0":   exclusion,
		"RESTORED":            exclusion,
		"AGED RESTARTS=0":     exclusion,
		"ANYTOKEN RESTARTS=0": unique,
	})
}

// Each way to break the recall of locks is found.
func TestRecallMutantsFail(t *testing.T) {
	t.Parallel()
	needSpin(t)
	const (
		exclusion = "(users==0)"
		larger    = "(token>highest)"
	)
	wantBroken(t, recall, map[string]string{
		"INUSE": exclusion, "UNCHECKED": larger, "TWICE": larger, "NARROW": larger, "SAME": larger,
	})
}

// wantBroken expects that each of these switches breaks a model, by an assertion.
func wantBroken(t *testing.T, model string, failed map[string]string) {
	t.Helper()
	for defines, assertion := range failed {
		wantFailed(t, model, defines, assertion)
	}
}
