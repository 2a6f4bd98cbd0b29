//go:build unix

package main

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{
	{
		Name: "terminal left as a killed program had it",
		Edits: []overlay.Edit{{File: "internal/terminal/terminal.go",
			From: "if took && t.modes != nil {", To: "if false {"}},
		Test: "TestTerminalIsUsableAfterAProgramThatWasKilled/by_KILL", Says: "left in raw mode",
	},
	{
		Name: "time to end taken from the time that the program may run",
		Edits: []overlay.Edit{{File: "internal/supervise/supervision.go",
			From: "s.endAt = time.Now().Add(plan.MaxHold)",
			To:   "s.endAt = time.Now().Add(plan.MaxHold - plan.grace())"}},
		Test: "TestMaxHoldGivesTheProgramItsTime", Says: "told to end after|a line was expected",
	},
	{
		Name: "lock of an enclosing run not known",
		Edits: []overlay.Edit{{File: "internal/cli/acquire.go",
			From: "\tcase o.exclusive:\n", To: "\tcase false:\n"}},
		Test: "TestRunInsideOfARun/without_waiting", Says: "stderr",
	},
}

// The source that each planted fault changes exists. make mutants checks that the faults are found.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
}
