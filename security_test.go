package leasehold_test

import "testing"

// Each row of what SECURITY.md says is done names its tests, and they exist.
func TestSecurityHasTests(t *testing.T) {
	t.Parallel()
	threats, rows := rowsOf(t, "SECURITY.md", "How it is kept")
	if len(threats) < 8 {
		t.Fatalf("only %d rows were found: has the table changed its form?", len(threats))
	}
	for _, threat := range threats {
		if threat != "Against" { // the heading
			testsExist(t, "SECURITY.md", threat, rows[threat])
		}
	}
}
