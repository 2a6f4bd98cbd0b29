package etcd_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{
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
}

// Each planted fault fits the code. "make mutants" checks that tests find it.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
}
