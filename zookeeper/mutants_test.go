package zookeeper

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{{
	Name: "session counted from the last answer",
	Edits: []overlay.Edit{{
		File: "session_life.go",
		From: "if c.certainFrom.IsZero() || on.began.Since(c.certainFrom) > 0 {\n" +
			"\t\tc.certainFrom, c.certainFor = on.began, ",
		To: "{\n\t\tc.certainFrom, c.certainFor = driver.Now(), ",
	}},
	Test: "TestConnectionCountsWithATransaction", Says: "without a transaction the session surely lasts",
}, {
	Name: "nodes that programs create kept from all others",
	Edits: []overlay.Edit{{
		File: "options.go", From: "append(zk.AuthACL(zk.PermAll), c.extraACL...)", To: "zk.AuthACL(zk.PermAll)",
	}},
	Test: "TestDocumentedRightsAreEnough", Says: "lacks the right",
}}

// The code that each planted fault quotes exists. The command make mutants checks that the faults are found.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
}
