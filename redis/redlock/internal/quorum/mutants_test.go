package quorum

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// mutant is the package with a fault in its code.
type mutant struct {
	name           string
	file, from, to string
	test           string // which must fail
}

var mutants = []mutant{
	{
		"late grant kept",
		"owner.go",
		"if (o.spent || o.ballotLost) && (release != nil || mayHold) {",
		"if (o.spent || o.ballotLost) && release != nil {",
		"TestLateGrantGoesIfTheLockIsNotHeld",
	},
	{
		"late node that grants nothing now is not released",
		"owner.go",
		"if (o.spent || o.ballotLost) && (release != nil || mayHold) {",
		"if (o.spent || o.ballotLost) && mayHold {",
		"TestReleaseTakesWhatIsThereFromBefore",
	},
	{
		"late node does not keep",
		"cleanup.go",
		"\t\tr = release.release\n",
		"\t\tr.Keep = 0\n",
		"TestReleaseKeepsOnTheLateNode",
	},
	{
		"release overtakes the take",
		"call.go",
		"if state := &o.nodes[n.index]; state.takes > 0 {",
		"if state := &o.nodes[n.index]; state.takes > 100 {",
		"TestReleaseWaitsForTheTake",
	},
	{
		"owner used again after its release",
		"call.go",
		"return s.replaceOwnerLocked(c, newOwner())",
		"return s.replaceOwnerLocked(c, c.current.name)",
		"TestReleaseThatArrivesAfterALaterBallot",
	},
	{
		"owner used again after its release, at any time",
		"call.go",
		"return s.replaceOwnerLocked(c, newOwner())",
		"return s.replaceOwnerLocked(c, c.current.name)",
		"TestSchedules",
	},
	{
		"late node of a lost ballot not waited for",
		"owner.go",
		"o.floor, o.ballotLost = 0, true",
		"o.floor = 0",
		"TestLateGrantGoesIfTheLockIsNotHeld",
	},
	{
		"what had no answer is not dropped again",
		"cleanup.go",
		"(s.uncertain && all || s.cleanupUnanswered && !e.nodes[i].silent.Load())",
		"false",
		"TestLostReleaseOfALostBallotIsRepeated",
	},
	{
		"node above the token counts",
		"ballot.go",
		"if g.first == b.token && g.last >= b.leaseTokens().last",
		"if g.first >= b.token && g.last >= b.leaseTokens().last",
		"TestNodeThatGrantsMoreThanTheTokenDoesNotCount",
	},
	{
		"one renewal is enough",
		"renew.go",
		"\tcase t.yes >= e.majority:\n\t\treturn nil, true",
		"\tcase t.yes >= 1:\n\t\treturn nil, true",
		"TestSchedules",
	},
	{
		"yes without a vote renews",
		"renew.go",
		"case a.err == nil && a.closed:",
		"case false:",
		"TestYesOfANodeWithoutAVoteRenewsNothing",
	},
	{
		"yes without a vote renews while others are silent",
		"renew.go",
		"case all && t.lastErr == nil:",
		"case all && t.yes+t.yesWithoutVote >= e.majority:",
		"TestYesOfANodeWithoutAVoteRenewsNothing",
	},
	{
		"yes without a vote never renews",
		"renew.go",
		"case all && t.lastErr == nil:",
		"case false:",
		"TestRestartsEndNoLeaseThatIsKept",
	},
	{
		"whom the arbiter refuses does not give way",
		"ballot_retry.go",
		"if !b.isStuck() || waitedEnough {",
		"if !b.isStuck() || waitedEnough && false {",
		"TestTakeThatTheArbiterRefusesGivesWay",
	},
	{
		"lease counted from the answers",
		"ballot.go",
		"Start: b.start}, nil",
		"Start: driver.Now()}, nil",
		"TestSchedules",
	},
	{
		"passed to fewer nodes than a majority",
		"hand_over.go",
		"need := h.engine.majority - 1",
		"need := 0",
		"TestSchedules",
	},
	{
		"new owner released although the waiter may hold",
		"hand_over.go",
		"\t\t\th.askAgain()\n",
		"\t\t\th.releaseBoth()\n",
		"TestHandOverWithoutAnAnswer",
	},
	{
		"new owner kept although nobody has become it",
		"hand_over.go",
		"\th.engine.releaseBallot(h.owner, h.engine.continueRelease)\n",
		"",
		"TestWaiterThatHasGivenUpIsPassedNothing",
	},
	{
		"new owner released although the arbiter has no vote",
		"hand_over.go",
		"if err == nil && e.hasVote(n) {",
		"if err == nil {",
		"TestRestoredArbiterTakesNothingFromTheWaiter",
	},
	{
		"name passed on although others wait at another node",
		"hand_over.go",
		" && !e.elsewhere.Has(r.Key)",
		"",
		"TestWaiterThatIsCutOffFromTheArbiter",
	},
	{
		"release returns before the name is passed",
		"hand_over.go",
		"f.yes >= e.majority && h.hasSecondStep()",
		"f.yes >= e.majority",
		"TestReleaseReturnsWhenTheNameIsBeingPassed",
	},
	{
		"closing the engine ends the hand-over",
		"hand_over.go",
		"h.release.sendRelease(h.engine.withNodeDeadline(context.Background()), n, h.engine.continueRelease)",
		"h.release.sendRelease(h.engine.withNodeDeadline(context.Background()), n, h.engine.startRelease)",
		"TestCloseWhileTheNameIsPassed",
	},
	{
		"holder not released where the name was not passed",
		"hand_over.go",
		"case passed, unknown:",
		"case passed, unknown, true:",
		"TestHolderIsReleasedWhereOthersWait",
	},
	{
		"lease of a passed name counted from the message",
		"held_grants.go",
		"g.Owner = o.grantOwner(r)",
		"g.Owner, g.Start = o.grantOwner(r), driver.Now()",
		"TestNameIsPassedToTheFirstWaiter",
	},
	{
		"late pass not released",
		"held_grants.go",
		"range latePassAfter {",
		"range latePassAfter[:0] {",
		"TestLatePassIsReleased",
	},
	{
		"what was passed to a waiter that has left not released",
		"held_grants.go",
		"\tfor _, n := range e.nodes {\n\t\te.startRelease(ctx, n, r,",
		"\tfor _, n := range e.nodes[:0] {\n\t\te.startRelease(ctx, n, r,",
		"TestGivingUpWhileTheNameIsPassedLeavesNothing",
	},
}

// Each fault has its place in the code. Make mutants checks that it is found.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, faults())
}

func faults() (list []overlay.Fault) {
	for _, m := range mutants {
		f := overlay.Fault{Name: m.name, Edits: []overlay.Edit{{File: m.file, From: m.from, To: m.to}}, Test: m.test}
		if f.Test == "TestSchedules" {
			f.Says = "broke a promise"
		}
		list = append(list, f)
	}
	return list
}
