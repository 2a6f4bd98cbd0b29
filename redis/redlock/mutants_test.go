package redlock_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{{
	Name: "opening waits for all servers",
	Edits: []overlay.Edit{{File: "node.go", From: "defer time.AfterFunc(grace, enough).Stop()",
		To: "defer time.AfterFunc(grace+time.Hour, enough).Stop()"}},
	Test: "TestServerThatIsSilentFromTheStartCostsNothing", Says: "it took",
}}

// The source that each planted fault changes exists. make mutants checks that the faults are found.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
}
