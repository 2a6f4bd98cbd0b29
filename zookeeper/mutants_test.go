package zookeeper

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{{
	Name: "session counted from the last answer",
	Edits: []overlay.Edit{{
		File: "lasting.go",
		From: "on.session == c.session && (c.heard.IsZero() || on.began.Since(c.heard) > 0) {\n\t\tc.heard, c.lasts = on.began, cover(on.timeout)",
		To:   "on.session == c.session {\n\t\tc.heard, c.lasts = driver.Now(), cover(on.timeout)",
	}},
	Test: "TestConnectionCountsWithATransaction", Says: "without a transaction the session surely lasts",
}, {
	Name:  "nodes that programs make kept from all others",
	Edits: []overlay.Edit{{File: "options.go", From: "append(zk.AuthACL(zk.PermAll), c.others...)", To: "zk.AuthACL(zk.PermAll)"}},
	Test:  "TestDocumentedRightsAreEnough", Says: "lacks the right",
}}

// Each fault has its place in the code. Make mutants checks that it is found.
func TestMutantsHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
}
