// Package overlay plants faults in source code for tests of tests: the go command takes an edited copy for the file (-overlay), and the file stays as it is.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Edit replaces a text that stands exactly once in a file. The file is named from the folder of the test.
type Edit struct{ File, From, To string }

// ForTest returns the file that -overlay wants, for some edits. Several of one file are done one after the other. The test fails if a text is
// not there, or is there more than once.
func ForTest(t testing.TB, edits ...Edit) (file string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for _, e := range edits {
		path, err := filepath.Abs(e.File)
		if err != nil {
			t.Fatal(err)
		}
		from, edited := path, filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if before, again := replace[path]; again {
			from, edited = before, before
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), e.From); n != 1 {
			t.Fatalf("%s has %d places like %q, want 1: plant the fault anew", e.File, n, e.From)
		}
		write(t, edited, []byte(strings.Replace(string(text), e.From, e.To, 1)))
		replace[path] = edited
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "overlay.json")
	write(t, file, list)
	return file
}

func write(t testing.TB, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
