package leasehold_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rowsOf returns the rows of the first table under a heading of a document, by their first cell.
func rowsOf(t *testing.T, document, heading string) (names []string, rest map[string]string) {
	t.Helper()
	text, err := os.ReadFile(document)
	noErr(t, err)
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", document, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rest = map[string]string{}
	for line := range strings.Lines(section) {
		cells := strings.SplitN(strings.Trim(line, "| \n"), " | ", 2)
		if !strings.HasPrefix(line, "|") || len(cells) < 2 || strings.HasPrefix(cells[0], "---") ||
			cells[0] == "Fault" {
			continue
		}
		names = append(names, cells[0])
		rest[cells[0]] = cells[1]
	}
	return names, rest
}

var (
	testsOfAFolder = regexp.MustCompile("`([^`]+)`: ([A-Za-z0-9_, ]+)")
	nameOfATest    = regexp.MustCompile(`(?:Test|Fuzz)[A-Za-z0-9_]+`)
)

// Each row of the table of faults has its tests, and they exist.
func TestPromisesHaveTests(t *testing.T) {
	t.Parallel()
	const document = "testdata/tests-of-promises.md"
	faults, _ := rowsOf(t, "docs/promises.md", "Which faults break what")
	_, tests := rowsOf(t, document, "The tests behind each row")
	if len(faults) < 20 {
		t.Fatalf("only %d rows of faults were found: has the table changed its form?", len(faults))
	}
	for _, fault := range faults {
		if tests[fault] == "" {
			t.Errorf("%s names no test for %q", document, fault)
		}
	}
	for fault, cell := range tests {
		checkTestsExist(t, document, fault, cell)
	}
}

// checkTestsExist finds tests that a row of a document names, and that are not there.
func checkTestsExist(t *testing.T, document, row, cell string) {
	t.Helper()
	named := testsOfAFolder.FindAllStringSubmatch(cell, -1)
	if len(named) == 0 {
		t.Errorf("%s: %q names no tests in the form `folder`: TestA, TestB", document, row)
	}
	for _, m := range named {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(m[1]), "*_test.go"))
		noErr(t, err)
		var source strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			noErr(t, err)
			source.Write(text)
		}
		for _, test := range nameOfATest.FindAllString(m[2], -1) {
			if !strings.Contains(source.String(), "\nfunc "+test+"(") {
				t.Errorf("%s: %q names %s in %s, which is not there", document, row, test, m[1])
			}
		}
	}
}
