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

// ForTest returns the file that -overlay wants, for one edit. The test fails if the text is not there, or is there more than once.
func ForTest(t testing.TB, e Edit) (file string) {
	t.Helper()
	path, text := e.read(t)
	return list(t, map[string]string{path: strings.Replace(text, e.From, e.To, 1)})
}

// read returns the path of the file, and what is in it.
func (e Edit) read(t testing.TB) (path, text string) {
	t.Helper()
	path, err := filepath.Abs(e.File)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), e.From); n != 1 {
		t.Fatalf("%s has %d places like %q, want 1: plant the fault anew", e.File, n, e.From)
	}
	return path, string(b)
}

// list writes the file that -overlay wants. Texts are those of the paths.
func list(t testing.TB, texts map[string]string) (file string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for path, text := range texts {
		copied := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		write(t, copied, []byte(text))
		replace[path] = copied
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "overlay.json")
	write(t, file, b)
	return file
}

func write(t testing.TB, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
