package quorum

import (
	"os/exec"
	"strings"
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
	{"late grant kept", "attempt.go", "if a.over && (tell != nil || !none) {", "if a.over && tell != nil {", "TestLateGrantGoesIfTheLockIsNotHeld"},
	{"late node that grants nothing now is not released", "attempt.go", "if a.over && (tell != nil || !none) {", "if a.over && !none {", "TestReleaseTakesWhatIsThereFromBefore"},
	{"late node does not keep", "drop.go", "\t\tr = tell.release\n", "\t\tr.Keep = 0\n", "TestReleaseKeepsOnTheLateNode"},
	{"release overtakes the take", "attempt.go", "if t := &a.on[n.index]; t.asked > 0 {", "if t := &a.on[n.index]; t.asked > 100 {", "TestReleaseWaitsForTheTake"},
	{"release of a lost ballot not waited for", "attempt.go", "return t.drops == 0 && t.doubt.IsZero()", "return true", "TestSchedules"},
	{"release without an answer forgotten", "drop.go", "\t\t\tt.doubt = sent\n", "", "TestSchedules"},
	{"release without an answer doubted for ever", "drop.go", "\t\tt.doubt = time.Time{}\n", "", "TestWaiterOutlastsAnOutage"},
	{"node above the token counts", "take.go", "if g.first == b.token && g.last >= b.lease().last", "if g.first >= b.token && g.last >= b.lease().last", "TestNodeThatGrantsMoreThanTheTokenDoesNotCount"},
	{"one renewal is enough", "renew.go", "\tcase t.yes >= e.need:\n\t\treturn nil, true", "\tcase t.yes >= 1:\n\t\treturn nil, true", "TestSchedules"},
	{"lease counted from the answers", "take.go", "Tokens: r.Tokens, Start: b.start}", "Tokens: r.Tokens, Start: driver.Now()}", "TestSchedules"},
}

// Each fault is found by the test that is there to find it.
func TestMutantsAreFound(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("builds the tests once for each mutant; make test runs this without the race detector")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("go", "test", "-vet=off", "-overlay="+overlay.ForTest(t, overlay.Edit{File: m.file, From: m.from, To: m.to}), "-run", "^"+m.test+"$", "-timeout=120s", ".", "-schedules", "15000")
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("%s passes with this fault", m.test)
			case !strings.Contains(string(out), "--- FAIL: "+m.test), m.test == "TestSchedules" && !strings.Contains(string(out), "broke a promise"):
				t.Errorf("%s did not fail by itself: %v\n%s", m.test, err, out)
			}
		})
	}
}
