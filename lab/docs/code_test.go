package docs

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostCodeLeftOut is how many blocks of Go may be left out.
const mostCodeLeftOut = 0

// The Go code in the documents compiles: each block in a package of its own, with what the text around it tells of.
func TestCodeOfTheDocumentsCompiles(t *testing.T) {
	t.Parallel()
	var tested int
	var leftOut []block
	files := map[string]string{}
	for _, page := range append(pages(t), "CONTRIBUTING.md") {
		for _, b := range blocksOf(t, page, "go") {
			if b.leftOut != "" {
				leftOut = append(leftOut, b)
				continue
			}
			tested++
			folder := regexp.MustCompile(`\W+`).ReplaceAllString(b.String(), "_")
			files["snippets/"+folder+"/code.go"] = program(t, b)
			files["snippets/"+folder+"/around.go"] = around(page)
		}
	}
	if out, err := compile(t, files); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	report(t, tested, leftOut, mostCodeLeftOut)
}

// compile compiles packages whose files exist only in an overlay of this folder. With the workspace, they can import
// all modules.
func compile(t *testing.T, files map[string]string) (output []byte, err error) {
	t.Helper()
	folder := t.TempDir()
	replaced := map[string]string{}
	for name, text := range files {
		there := filepath.Join(folder, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(there, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		here, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		replaced[here] = there
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.Command("go", "build", "-overlay="+path, "./snippets/...").CombinedOutput()
}

// program makes a file of a block: its functions, types and imports as they are, and everything else in a function that
// may return an error.
func program(t *testing.T, b block) string {
	t.Helper()
	outside, inside := split(b.text)
	inside = strings.ReplaceAll(inside, "{ ... }", "{ return err }")
	inside = regexp.MustCompile(`(?m)^(\t*)\.\.\.$`).ReplaceAllString(inside, "${1}_ = err")
	position := fmt.Sprintf("//line %s:1\n", b)
	text := func(used string) string {
		return "package code\n" + outside + "\nfunc _() error {\n" + position + inside + used + "return nil\n}\n"
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", text(""), 0)
	if err != nil {
		t.Errorf("%s: %v", b, err)
		return "package code\n"
	}
	var used strings.Builder
	for _, name := range declared(file.Decls[len(file.Decls)-1].(*ast.FuncDecl)) {
		fmt.Fprintf(&used, "_ = %s\n", name)
	}
	return strings.Replace(text(used.String()), "package code\n", "package code\n"+imports(file), 1)
}

var (
	begins = regexp.MustCompile(`^(func \w|func \(|type |import )`)
	ends   = regexp.MustCompile(`^[})]\n`)
)

// split separates what belongs outside of a function.
func split(text string) (outside, inside string) {
	open := false
	for line := range strings.Lines(text) {
		switch {
		case open:
			outside += line
			open = !ends.MatchString(line)
		case begins.MatchString(line):
			outside += line
			open = strings.HasSuffix(line, "{\n") || strings.HasSuffix(line, "(\n")
		default:
			inside += line
		}
	}
	return outside, inside
}

// declared returns the variables that a function declares at its top, which an example need not use.
func declared(f *ast.FuncDecl) (names []string) {
	for _, statement := range f.Body.List {
		assignment, ok := statement.(*ast.AssignStmt)
		if !ok || assignment.Tok != token.DEFINE {
			continue
		}
		for _, left := range assignment.Lhs {
			if name := left.(*ast.Ident).Name; name != "_" {
				names = append(names, name)
			}
		}
	}
	return names
}

// imports returns the imports that a file uses and does not have.
func imports(file *ast.File) string {
	var has, used []string
	for _, i := range file.Imports {
		has = append(has, strings.Trim(i.Path.Value, `"`))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used = append(used, x.Name)
			}
		}
		return true
	})
	slices.Sort(used)
	var lines strings.Builder
	for _, name := range slices.Compact(used) {
		if path := packages[name]; path != "" && !slices.Contains(has, path) {
			fmt.Fprintf(&lines, "import %s %q\n", name, path)
		}
	}
	return lines.String()
}
