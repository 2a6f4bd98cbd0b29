// Package overlay plants faults in source code to test tests: the go command compiles an edited
// copy instead of the file (-overlay), and the file stays as it is.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Edit replaces a text that occurs exactly once in a file. File is relative to the folder of the
// test.
//
// An edit of a [Fault] may have Func and Body instead: it replaces the body of a function or of a
// method, such as "Engine.Close", in any file of the folder of the test. It still fits when the
// function is changed or moved, but not when it is renamed.
type Edit struct{ File, From, To, Func, Body string }

// ForTest returns the -overlay file for one edit. The test fails if the text is missing, or occurs
// more than once.
func ForTest(t testing.TB, e Edit) (file string) {
	t.Helper()
	path, text := e.read(t)
	return list(t, map[string]string{path: strings.Replace(text, e.From, e.To, 1)})
}

// read returns the path and the contents of the file.
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
	if n := strings.Count(string(b), e.From); e.Func == "" && n != 1 {
		t.Fatalf("%s has %d occurrences of %q, want 1: plant the fault again", e.File, n, e.From)
	}
	return path, string(b)
}

// list writes the -overlay file. texts maps paths to new contents.
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
