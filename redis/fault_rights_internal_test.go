package redis

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rights that are checked before the scripts run are those for the commands which the scripts call.
func TestRightsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	commands := func(pattern, text string) (found []string) {
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, match[1])
		}
		return found
	}
	paths, err := filepath.Glob("scripts/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	var called []string
	for _, path := range paths {
		called = append(called, commands(`call\('([A-Z]+)'`, read(path))...)
	}
	slices.Sort(called)
	called = slices.DeleteFunc(slices.Compact(called), func(c string) bool { return strings.HasSuffix(c, "PUBLISH") })
	asked := commands(`\{'([A-Z]+)'`, read("scripts/rights.lua"))
	slices.Sort(asked)
	if !slices.Equal(called, asked) {
		t.Errorf("the scripts call %v, but rights.lua checks the rights to %v", called, asked)
	}
	checkedForReading := commands(`\{'([A-Z]+)'`, read("scripts/rights_read.lua"))
	var calledForReading []string
	for _, path := range []string{"status", "latch", "latch_status", "removals_read", "leak_checks", "guard",
		"guard_slots"} {
		calledForReading = append(calledForReading, commands(`call\('([A-Z]+)'`, read("scripts/"+path+".lua"))...)
	}
	slices.Sort(calledForReading)
	for _, c := range slices.Compact(calledForReading) {
		// a read-only engine writes no marker
		if c != "SET" && c != "PEXPIRE" && !slices.Contains(checkedForReading, c) {
			t.Errorf("the read-only scripts call %s, and rights_read.lua does not check the right to it", c)
		}
	}
}
