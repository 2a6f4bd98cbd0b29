package leasehold_test

import (
	"os"
	"strings"
	"testing"
)

const security = "SECURITY.md"

// Each threat that SECURITY.md lists names tests, and these exist.
func TestSecurityHasTests(t *testing.T) {
	t.Parallel()
	threats, rows := rowsOf(t, security, "How it is kept")
	if len(threats) < 20 {
		t.Fatalf("only %d rows were found: has the table changed its form?", len(threats))
	}
	for _, threat := range threats {
		if threat != "Against" { // the heading
			_, tests, _ := strings.Cut(rows[threat], " | ")
			checkTestsExist(t, security, threat, tests)
		}
	}
}

// Each part of SECURITY.md that says what somebody may do names the threats that are prevented, and none is left out.
func TestEverybodyIsKeptFromSomething(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(security)
	noErr(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Who may do what\n")
	section, _, _ = strings.Cut(section, "\n## ")
	parts := strings.Split(section, "\n### ")[1:]
	if len(parts) < 8 {
		t.Fatalf("only %d parts were found: have they changed their form?", len(parts))
	}
	threats, rows := rowsOf(t, security, "How it is kept")
	named := map[string]bool{"Against": true} // the heading
	for _, part := range parts {
		who, _, _ := strings.Cut(part, "\n")
		_, list, found := strings.Cut(part, "\nRows: ")
		if !found {
			t.Errorf("%q names no rows", who)
		}
		for row := range strings.SplitSeq(strings.TrimRight(list, ".\n"), ";") {
			row = strings.Join(strings.Fields(row), " ")
			if named[row] = true; rows[row] == "" {
				t.Errorf("%q names the row %q, which is not there", who, row)
			}
		}
	}
	for _, threat := range threats {
		if !named[threat] {
			t.Errorf("%q keeps nobody from anything", threat)
		}
	}
}
