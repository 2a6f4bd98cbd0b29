package etcd_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{
	{
		Name:  "end of a session frees its locks",
		Edits: []overlay.Edit{{File: "orphans.go", From: "seconds := surely(p.grace)", To: "seconds := int64(1)"}},
		Test:  "TestAHolderThatIsGoneIsWaitedOut", Says: "the next one holds",
	},
	{
		Name:  "session kept alive by a leader that was replaced",
		Edits: []overlay.Edit{{File: "session.go", From: "case r.Header.GetRaftTerm() != confirmed.Header.GetRaftTerm():", To: "case false:"}},
		Test:  "TestTheWordOfAnOldLeaderDoesNotCount", Says: "a session that only an old leader keeps alive",
	},
}

// Each fault has its place in the code. Make mutants checks that it is found.
func TestMutantsHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
}
