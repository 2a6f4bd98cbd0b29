package drivertest

import "testing"

// A name that is misspelt would skip nothing, and nobody would notice when a check is renamed.
func TestLacksNamesChecks(t *testing.T) {
	for name, want := range map[string]string{
		"Force/ForceReleaseFrees": "", "ForceReleaseFrees": "ForceReleaseFrees", "Force/None": "Force/None",
	} {
		if got := (Harness{Lacks: map[string]string{name: "why"}}).unknownLack(); got != want {
			t.Errorf("%q: %q is unknown, want %q", name, got, want)
		}
	}
}
