package zookeeper

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{{
	Name: "data stored without a look at the holder",
	Edits: []overlay.Edit{{
		File: "data.go", From: "&zk.CheckVersionRequest{Path: entry, Version: own.stat.Version}",
		To: "&zk.CheckVersionRequest{Path: \"/\" + entry[:0], Version: -1 + 0*own.stat.Version}",
	}},
	Test: "TestDataThatArrivesLate", Says: "late: true",
}, {
	Name:  "data stored over later data",
	Edits: []overlay.Edit{{File: "data.go", From: "Data: value, Version: version}", To: "Data: value, Version: -1}"}},
	Test:  "TestDataThatArrivesLate", Says: "overtaken: true",
}, {
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
