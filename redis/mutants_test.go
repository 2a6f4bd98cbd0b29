package redis_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

var mutants = []overlay.Fault{
	{
		Name: "release that ends before all the dead are skipped",
		Edits: []overlay.Edit{{File: "release.go", From: "for more := true; more; {",
			To: "for more := false; more; {"}},
		Test: "TestTheDeadAreSkippedInShortScripts", Says: "after the release",
	},
	{
		Name: "take that ends before all the dead are skipped",
		Edits: []overlay.Edit{{File: "join.go", From: "if !refused.unfinished || err == nil || refused.position >= 0 {",
			To: "if true {"}},
		Test: "TestATakeSkipsAllTheDead", Says: "held by another owner",
	},
	{
		Name:  "forced release and sweep that end before all the dead are skipped",
		Edits: []overlay.Edit{{File: "force.go", From: "if unfinished {", To: "if unfinished && false {"}},
		Test:  "TestAllHandOversGoOn", Says: "61 wait and 0 hold",
	},
	{
		Name: "grant that ends before all the dead are skipped",
		Edits: []overlay.Edit{{File: "join.go", From: "refused.unfinished = len(list) > 3 && list[3] == takeUnfinished",
			To: "refused.unfinished = false"}},
		Test: "TestAllHandOversGoOn/Take", Says: "61 wait and 1 hold",
	},
	{
		Name: "waiter that a renewal finds not told to the holder",
		Edits: []overlay.Edit{{File: "recall.go", From: "\t\tif c.owner == owner {\n\t\t\te.recallNow(c)",
			To: "\t\tif false {\n\t\t\te.recallNow(c)"}},
		Test: "TestARenewalRecallsIfSomebodyWaits", Says: "0 recalls, want one",
	},
	{
		Name: "owner recalled that has lost its lock before a downgrade",
		Edits: []overlay.Edit{{File: "engine.go", From: "if err == nil || driver.IsNo(err) { // a shared",
			To: "if false { // a shared"}},
		Test: "TestOwnersThatDoNotHoldAreNotRecalled", Says: "owners would be recalled",
	},
	{
		Name: "owner used again after the undoing of its grant",
		Edits: []overlay.Edit{
			{File: "replicas.go", From: "\t\t\treturn driver.Spent(short)\n", To: "\t\t\treturn short\n"},
			{File: "replicas.go", From: "return driver.Spent(driver.NoEffect(short))",
				To: "return driver.NoEffect(short)"},
			{File: "replicas.go", From: "return e.replicas > 0 && err != nil", To: "return false && err != nil"},
		},
		Test: "TestLateUndoOfAHandOver", Says: "the late release has taken the lock",
	},
	{
		Name: "mode of a Valkey not read",
		Edits: []overlay.Edit{{File: "server_info.go", From: `case "redis_mode", "server_mode":`,
			To: `case "redis_mode":`}},
		Test: "TestModeIsReadAndNeverAssumed", Says: "server_mode:cluster",
	},
	{
		Name:  "mode that is not known taken for that of a single server",
		Edits: []overlay.Edit{{File: "server_info.go", From: "case !info.isModeKnown():", To: "case false:"}},
		Test:  "TestModeIsReadAndNeverAssumed", Says: "want a permanent error",
	},
	{
		Name: "read-only requests sent as scripts that may write",
		Edits: []overlay.Edit{{File: "read_only.go", From: "e.readRouter.readCommand = true, evalshaReadOnly",
			To: "e.readRouter.readCommand = true, evalsha"}},
		Test: "TestReadOnlyUsersChangeNothing", Says: `lacks \+evalsha`,
	},
	{
		Name:  "servers initialized for locking by a user who may only read",
		Edits: []overlay.Edit{{File: "search.go", From: "router: &e.readRouter", To: "router: &e.router"}},
		Test:  "TestReadOnlyUsersChangeNothing", Says: `lacks \+evalsha`,
	},
	{
		Name:  "idle lock not recalled",
		Edits: []overlay.Edit{{File: "wait.go", From: "\tif strings.HasPrefix(text, \"r \") {", To: "\tif false {"}},
		Test:  "TestContractOnOneServer/Recall/WaiterOfALockInUseWaits", Says: "still not: the holder is recalled",
	},
	{
		Name:  "recall not answered",
		Edits: []overlay.Edit{{File: "recall.go", From: "if !inUse ||", To: "if true ||"}},
		Test:  "TestContractOnOneServer/Recall/HolderInUseSaysSo",
		Says:  "a try of a lock in use: context deadline exceeded",
	},
	{
		Name:  "owner recalled after its release",
		Edits: []overlay.Edit{{File: "release.go", From: "\te.removeRecallable(n.value, r.Owner)\n", To: ""}},
		Test:  "TestContractOnOneServer/Recall/ReleaseEndsRecalls", Says: "was called 1 times, want 0 to 0",
	},
	{
		Name: "exchange that forgets its release when others wait",
		Edits: []overlay.Edit{{File: "exchange.go",
			From: "return e.releaseAndTake(ctx, before, r)\n\t\t}\n\t\tg, err = readTakeFree",
			To:   "g, err = e.Take(ctx, r)\n\t\t\treturn g, nil, err\n\t\t}\n\t\tg, err = readTakeFree"}},
		Test: "TestContractOnOneServer/Exchange/ExchangeServesWaitersFirst", Says: "Wait has not returned",
	},
	{
		Name: "failures to dial left to the client's log",
		Edits: []overlay.Edit{{File: "internal/redisurl/quiet.go",
			From: "return failedConn{why: &dialError{err}}, nil", To: "return nil, err"}},
		Test: "TestOpenPrintsNothing/gone", Says: "failed to dial",
	},
	{
		Name:  "lease of a passed name counted from the message",
		Edits: []overlay.Edit{{File: "waiter.go", From: "max(surely, 0) - age", To: "max(surely, 0)"}},
		Test:  "TestLeaseOfAPassedName", Says: "the lease counts from",
	},
	{
		Name:  "lease of a passed name may count from too late if the clock of the server was set back",
		Edits: []overlay.Edit{{File: "pass.go", From: "least := max(", To: "least := 0 * max("}},
		Test:  "TestHandOverThatIsRefused", Says: "the clock was set back by less: true",
	},
	{
		Name: "ticket that all have seen names an owner to release",
		Edits: []overlay.Edit{{File: "wait.go", From: "w == nil && m.isGrant &&",
			To: "w == nil && m.grant.Owner != \"\" &&"}},
		Test: "TestPassThatComesTooLate", Says: "by a ticket that all have seen",
	},
	{
		Name:  "ticket that all have seen names an owner that holds",
		Edits: []overlay.Edit{{File: "waiter.go", From: "\t\t\t\tw.ticketShown = true\n", To: ""}},
		Test:  "TestOwnerThatAnybodyCouldMakeUp", Says: "the waiter is told",
	},
	{
		Name:  "waiter that has left forgotten, so that what it is passed is not released",
		Edits: []overlay.Edit{{File: "pass.go", From: "\t\te.waiters.noteLeft(w)\n", To: ""}},
		Test:  "TestPassThatComesTooLate", Says: "the quorum is told of",
	},
}

// The source that each planted fault changes exists. make mutants checks that the faults are found.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
}
