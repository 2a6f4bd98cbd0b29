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
	{"late grant kept", "owner.go", "if (o.over || o.lost) && (tell != nil || left) {", "if (o.over || o.lost) && tell != nil {", "TestLateGrantGoesIfTheLockIsNotHeld"},
	{"late node that grants nothing now is not released", "owner.go", "if (o.over || o.lost) && (tell != nil || left) {", "if (o.over || o.lost) && left {", "TestReleaseTakesWhatIsThereFromBefore"},
	{"late node does not keep", "drop.go", "\t\tr = tell.release\n", "\t\tr.Keep = 0\n", "TestReleaseKeepsOnTheLateNode"},
	{"release overtakes the take", "attempt.go", "if t := &o.on[n.index]; t.asked > 0 {", "if t := &o.on[n.index]; t.asked > 100 {", "TestReleaseWaitsForTheTake"},
	{"owner used again after its release", "attempt.go", "name: fresh(), on: make", "name: a.now.name, on: make", "TestReleaseThatArrivesAfterALaterBallot"},
	{"owner used again after its release, at any time", "attempt.go", "name: fresh(), on: make", "name: a.now.name, on: make", "TestSchedules"},
	{"late node of a lost ballot not waited for", "owner.go", "o.floor, o.lost = 0, true", "o.floor = 0", "TestLateGrantGoesIfTheLockIsNotHeld"},
	{"what had no answer is not dropped again", "drop.go", "(t.doubt && all || t.owed && !e.nodes[i].silent.Load())", "false", "TestLostReleaseOfALostBallotIsRepeated"},
	{"node above the token counts", "take.go", "if g.first == b.token && g.last >= b.lease().last", "if g.first >= b.token && g.last >= b.lease().last", "TestNodeThatGrantsMoreThanTheTokenDoesNotCount"},
	{"one renewal is enough", "renew.go", "\tcase t.yes >= e.need:\n\t\treturn nil, true", "\tcase t.yes >= 1:\n\t\treturn nil, true", "TestSchedules"},
	{"yes without a vote renews", "renew.go", "case a.err == nil && a.closed:", "case false:", "TestYesOfAPlaceWithoutAVoteRenewsNothing"},
	{"yes without a vote renews while others are silent", "renew.go", "case all && t.last == nil:", "case all && t.yes+t.weak >= e.need:", "TestYesOfAPlaceWithoutAVoteRenewsNothing"},
	{"yes without a vote never renews", "renew.go", "case all && t.last == nil:", "case false:", "TestRestartsEndNoLeaseThatIsKept"},
	{"whom the arbiter refuses does not give way", "take.go", "if !b.hangs() || b.repeats >= leastHanging && driver.Now().Since(b.start) >= b.persistence()/10 {", "if !b.hangs() {", "TestWhomTheArbiterRefusesGivesWay"},
	{"lease counted from the answers", "take.go", "Start: b.start}, nil", "Start: driver.Now()}, nil", "TestSchedules"},
}

// Each fault has its place in the code. Make mutants checks that it is found.
func TestMutantsHaveTheirPlaces(t *testing.T) {
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
