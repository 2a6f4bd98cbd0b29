package redisson

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// statedTimes returns the times that docs/redisson.md states: the groups of a pattern, in seconds. The tests compare
// what they measure with these, so that the page and the tests cannot differ.
func statedTimes(t *testing.T, pattern string) (times []time.Duration) {
	t.Helper()
	page, err := os.ReadFile(abilitiesFile)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(page), -1)
	if len(found) != 1 {
		t.Fatalf("%s has %d times %s", abilitiesFile, len(found), pattern)
	}
	for _, seconds := range found[0][1:] {
		s, err := strconv.ParseFloat(seconds, 64)
		if err != nil {
			t.Fatalf("%s states a time of %q s: %v", abilitiesFile, seconds, err)
		}
		times = append(times, time.Duration(s*float64(time.Second)))
	}
	return times
}
