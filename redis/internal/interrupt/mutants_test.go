package interrupt

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{
	{
		Name:  "a connection interrupted that serves another request by now",
		Edits: []overlay.Edit{{File: "conn.go", From: "if c.serving == r {", To: "if true {"}},
		Test:  "TestOnlyTheRequestOfTheContextIsInterrupted", Says: "i/o timeout",
	},
	{
		Name:  "a connection used by a request that has ended",
		Edits: []overlay.Edit{{File: "conn.go", From: "if r.ended.Load() {", To: "if false {"}},
		Test:  "TestOnlyTheRequestOfTheContextIsInterrupted", Says: "read: <nil>",
	},
	{
		Name:  "what has ended used for the next request",
		Edits: []overlay.Edit{{File: "request.go", From: "if !again {", To: "if false {"}},
		Test:  "TestRequestsAreUsedAgain", Says: "is used again",
	},
}

// The source that each planted fault changes exists. make mutants checks that the faults are found.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
}
