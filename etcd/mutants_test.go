package etcd_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{
	{
		Name: "data stored without a look at the holder",
		Edits: []overlay.Edit{{File: "data.go", From: "all(own.compareUnchanged(), compareModifiedAt(path, modified))",
			To: "all(compareModifiedAt(path, modified))"}},
		Test: "TestDataThatArrivesLate",
		Says: `taken: the data is "late"`,
	},
	{
		Name: "data stored over later data",
		Edits: []overlay.Edit{{File: "data.go", From: "all(own.compareUnchanged(), compareModifiedAt(path, modified))",
			To: "append(all(own.compareUnchanged()), all(compareModifiedAt(path, modified))[1:]...)"}},
		Test: "TestDataThatArrivesLate",
		Says: `overtaken: the data is "first"`,
	},
	{
		Name:  "end of a session frees its locks",
		Edits: []overlay.Edit{{Func: "certainSeconds", Body: "return 1"}},
		Test:  "TestGraceOfADeadHolder",
		Says:  "the next one holds",
	},
	{
		Name:  "session kept alive by a leader that was replaced",
		Edits: []overlay.Edit{{Func: "inOneTerm", Body: "return true"}},
		Test:  "TestKeepaliveOfAnOldLeaderDoesNotCount",
		Says:  "a session that only an old leader keeps alive",
	},
	{
		Name:  "removal that came before a watch was used again is forgotten",
		Edits: []overlay.Edit{{File: "removal_watches.go", From: "if w.removedAt > 0 {", To: "if false {"}},
		Test:  "TestRemovalBeforeAWatchIsUsed",
		Says:  "it has returned: false",
	},
	{
		Name:  "member that lags behind a removal is believed",
		Edits: []overlay.Edit{{File: "request.go", From: "a.Header.Revision < since", To: "false"}},
		Test:  "TestWaiterDoesNotBelieveAMemberThatLagsBehind",
		Says:  "it returned",
	},
	{
		Name: "answer to a ping is sent inside of a frame",
		Edits: []overlay.Edit{{
			File: "ping_acks.go", From: "return p.rest == 0 && len(p.header) == 0", To: "return true",
		}},
		Test: "TestFramesStayWhole",
		Says: "frames",
	},
}

// Each planted fault fits the code. "make mutants" checks that tests find it.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
}
