package redis

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the scripts call is what is asked for before they run, and what the documents say.
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
		t.Errorf("the scripts call %v, but rights.lua asks for %v", called, asked)
	}
	looks := commands(`\{'([A-Z]+)'`, read("scripts/rights_look.lua"))
	var looked []string
	for _, path := range []string{"look", "latching", "latch_look", "records", "leaking", "guard", "guard_master"} {
		looked = append(looked, commands(`call\('([A-Z]+)'`, read("scripts/"+path+".lua"))...)
	}
	slices.Sort(looked)
	for _, c := range slices.Compact(looked) {
		if c != "SET" && c != "PEXPIRE" && !slices.Contains(looks, c) { // a marker is only written where nobody only looks
			t.Errorf("the scripts that look call %s, and rights_look.lua does not ask for it", c)
		}
	}
}
