package leasehold_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What go doc says of the library names each engine with its import path.
func TestTheDocumentationNamesEachEngine(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	opens := regexp.MustCompile(`(?m)^func (Open|New)\(.*\) (\*Engine|\(\*Engine, error\)) {`)
	var engines []string
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if folder := filepath.ToSlash(filepath.Dir(path)); opens.Match(text) && !strings.Contains(path, "internal/") {
			engines = append(engines, folder)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(engines)
	engines = slices.Compact(engines)
	if len(engines) < 8 {
		t.Errorf("only these engines were found: %q", engines)
	}
	for _, engine := range engines {
		_, name, below := strings.Cut(engine, "/")
		if !below {
			name = engine
		}
		if !strings.Contains(string(doc), "//   - "+name+", "+home+"/"+engine+": ") {
			t.Errorf("doc.go does not name %s with its import path", engine)
		}
	}
}
