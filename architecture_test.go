package leasehold_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declarations are the names that Go files declare: functions, types, variables, constants, fields and methods. A
// method is there twice, the second time after the name of its receiver's type and a dot.
type declarations map[string]bool

// addFile adds what a file declares.
func (d declarations) addFile(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			d[n.Name.Name] = true
			if n.Recv != nil {
				receiver := n.Recv.List[0].Type
				if pointer, ok := receiver.(*ast.StarExpr); ok {
					receiver = pointer.X
				}
				if generic, ok := receiver.(*ast.IndexExpr); ok {
					receiver = generic.X
				}
				if of, ok := receiver.(*ast.Ident); ok {
					d[of.Name+"."+n.Name.Name] = true
				}
			}
		case *ast.TypeSpec:
			d[n.Name.Name] = true
		case *ast.ValueSpec:
			for _, name := range n.Names {
				d[name.Name] = true
			}
		case *ast.Field:
			for _, name := range n.Names {
				d[name.Name] = true
			}
		}
		return true
	})
}

// luaFunction finds the functions of a script.
var luaFunction = regexp.MustCompile(`(?m)^local function (\w+)`)

// addScript adds the functions of a script.
func (d declarations) addScript(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range luaFunction.FindAllStringSubmatch(string(text), -1) {
		d[found[1]] = true
	}
}

// What docs/architecture.md names exists: files, what Go declares, and in its tables, each function in its file.
func TestArchitectureNamesWhatExists(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	all, base := declarations{}, map[string]bool{}
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "lab" || name == "cmd") {
				return filepath.SkipDir
			}
			base[name] = true
			return nil
		}
		base[name] = true
		switch {
		case strings.HasSuffix(name, ".lua"):
			all.addScript(t, path)
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			all.addFile(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("`([^`\n]+)`")
	isFile := regexp.MustCompile(`^[\w/]+\.(go|lua)$`)
	isName := regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)*$`)
	for _, found := range code.FindAllStringSubmatch(string(page), -1) {
		name := found[1]
		switch {
		case isFile.MatchString(name):
			if _, err := os.Stat(name); err != nil {
				t.Errorf("the page names a file that is not there: %v", err)
			}
		case isName.MatchString(name):
			last := name[strings.LastIndexByte(name, '.')+1:]
			if !all[last] && !base[last] {
				t.Errorf("the page names %s, which nothing declares", name)
			}
		}
	}
	for _, name := range regexp.MustCompile(`[\w/]+\.(?:go|lua)\b`).FindAllString(string(page), -1) {
		if !base[filepath.Base(name)] {
			t.Errorf("the page names the file %s, which is not there", name)
		}
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		for i := 1; i+1 < len(cells); i++ {
			cell := code.FindStringSubmatch(cells[i])
			if cell == nil || strings.TrimSpace(cells[i]) != cell[0] || !isFile.MatchString(cell[1]) {
				continue
			}
			path := cell[1]
			rows++
			here := declarations{}
			if strings.HasSuffix(path, ".lua") {
				here.addScript(t, path)
			} else {
				here.addFile(t, path)
			}
			for _, found := range code.FindAllStringSubmatch(cells[i+1], -1) {
				if !here[found[1]] {
					t.Errorf("%s does not declare %s", path, found[1])
				}
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows name a file: the tables have another form", rows)
	}
}

// The table of files in docs/architecture.md has each file of the root package and of package redis, once.
func TestArchitectureListsAllFiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| What needs them | Files |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, pattern := range []string{"*.go", "redis/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			if n := strings.Count(table, "`"+filepath.ToSlash(file)+"`"); n != 1 {
				t.Errorf("the table has %s %d times, want once", file, n)
			}
		}
	}
}
