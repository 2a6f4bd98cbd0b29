package licences

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// Allowed are the licences that may be linked into a command under Apache 2.0, by their SPDX identifiers: they demand
// that their text goes along, and nothing else of this project.
var Allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense", "Zlib"}

// minCovered is how much of a text must be licences that are known, in percent. The rest is names and years.
const minCovered = 75

// Check returns what is wrong with the licence in a text, or "". Notices may say what they like.
func Check(t Text) string {
	if isNotice(t.Name) || wasRead(t) {
		return ""
	}
	is, covered := recognize(t)
	for _, id := range is {
		if !slices.Contains(Allowed, id) {
			return fmt.Sprintf("%s: %s is under %s: allowed are %s", t.Module, t.Name, id, strings.Join(Allowed, ", "))
		}
	}
	if len(is) == 0 || covered < minCovered {
		return fmt.Sprintf("%s: %s is no licence that is known: %v cover %.0f %% of it, and %d %% are needed; "+
			"read it, and if it is allowed, add it to read.go", t.Module, t.Name, is, covered, minCovered)
	}
	return ""
}

// recognize returns the licences that the text consists of.
func recognize(t Text) (ids []string, covered float64) {
	c := licensecheck.Scan([]byte(t.Content))
	for _, m := range c.Match {
		if !m.IsURL && !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	return ids, c.Percent
}

func isNotice(name string) bool {
	name = strings.ToLower(path.Base(name))
	return strings.HasPrefix(name, "notice") || strings.HasPrefix(name, "patents")
}

// Write writes all texts as one file.
func Write(texts []Text) string {
	var b strings.Builder
	b.WriteString("The command leasehold contains code of these modules, under these licences.\n")
	rule := strings.Repeat("=", 80)
	for _, t := range texts {
		content := strings.TrimSpace(strings.ReplaceAll(t.Content, "\r\n", "\n"))
		fmt.Fprintf(&b, "\n%s\n%s: %s\n%s\n\n%s\n", rule, t.Module, t.Name, rule, content)
	}
	return b.String()
}
