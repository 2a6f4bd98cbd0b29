package overlay

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// planted returns the texts of the files with all faults in them. A function with faults contains
// an edited copy of its body for each of them, in front of its own body; the selected fault decides
// which one runs.
func planted(t testing.TB, faults []Fault) (texts map[string]string) {
	t.Helper()
	files := map[string]*source{}
	for _, f := range faults {
		for _, e := range f.Edits {
			if e.Func != "" {
				e.File = fileWith(t, e.Func)
			}
			path, text := e.read(t)
			if files[path] == nil {
				files[path] = parse(t, path, text)
			}
			files[path].plant(t, f.Name, e)
		}
	}
	texts = map[string]string{}
	for path, s := range files {
		texts[path] = s.render()
		texts[filepath.Join(filepath.Dir(path), "planted_fault.go")] = fmt.Sprintf(
			"package %s\n\nimport \"os\"\n\nvar plantedFault = os.Getenv(%q)\n", s.syntax.Name, selectedFault)
	}
	return texts
}

// source is a file in which faults are planted.
type source struct {
	text   string
	syntax *ast.File
	bodies map[*ast.FuncDecl][]body
}

// body is the body of a function with one fault in it.
type body struct{ fault, text string }

func parse(t testing.TB, path, text string) *source {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &source{text, syntax, map[*ast.FuncDecl][]body{}}
}

// between returns the text between two positions.
func (s *source) between(from, to token.Pos) string {
	return s.text[from-s.syntax.FileStart : to-s.syntax.FileStart]
}

// plant edits the function that contains the edit. Edits of one fault in one function are applied
// one after the other.
func (s *source) plant(t testing.TB, fault string, e Edit) {
	t.Helper()
	if e.Func != "" {
		f := s.function(e.Func)
		s.bodies[f] = append(s.bodies[f], body{fault, "{\n" + e.Body + "\n}"})
		return
	}
	f := s.functionWith(e.From)
	if f == nil {
		t.Fatalf("%s: %q is not inside of one function: plant the fault again", e.File, e.From)
	}
	bodies := s.bodies[f]
	if last := len(bodies) - 1; last < 0 || bodies[last].fault != fault {
		bodies = append(bodies, body{fault, s.between(f.Body.Lbrace, f.Body.Rbrace+1)})
	}
	b := &bodies[len(bodies)-1]
	if n := strings.Count(b.text, e.From); n != 1 {
		t.Fatalf("%s: after earlier edits it has %d occurrences of %q, want 1: plant the fault again", e.File, n,
			e.From)
	}
	b.text = strings.Replace(b.text, e.From, e.To, 1)
	s.bodies[f] = bodies
}

// functionWith returns the function whose body contains the text, or nil.
func (s *source) functionWith(text string) *ast.FuncDecl {
	for _, d := range s.syntax.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil &&
			strings.Contains(s.between(f.Body.Lbrace, f.Body.Rbrace+1), text) {
			return f
		}
	}
	return nil
}

// fileWith returns the file in this folder that has the function. The test fails unless there is
// exactly one.
func fileWith(t testing.TB, function string) (file string) {
	t.Helper()
	all, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range all {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if parse(t, f, string(text)).function(function) != nil {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%q has function %s, want one file: plant the fault again", found, function)
	}
	return found[0]
}

// function returns the function or method with that name, or nil.
func (s *source) function(name string) *ast.FuncDecl {
	for _, d := range s.syntax.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		is := f.Name.Name
		if f.Recv != nil {
			receiver := f.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			is = s.between(receiver.Pos(), receiver.End()) + "." + is
		}
		if is == name {
			return f
		}
	}
	return nil
}

// render returns the text of the file with all planted faults.
func (s *source) render() string {
	var b strings.Builder
	done := s.syntax.FileStart
	for _, d := range s.syntax.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || s.bodies[f] == nil {
			continue
		}
		b.WriteString(s.between(done, f.Body.Lbrace+1))
		done = f.Body.Lbrace + 1
		for _, planted := range s.bodies[f] {
			b.WriteString(s.runIfSelected(f, planted))
		}
	}
	b.WriteString(s.between(done, s.syntax.FileEnd))
	return b.String()
}

// runIfSelected returns a statement that runs a planted body instead of the function's own if its
// fault is selected.
func (s *source) runIfSelected(f *ast.FuncDecl, planted body) string {
	results := ""
	form := "\nif plantedFault == %q {\nfunc() %s%s()\nreturn\n}\n"
	if f.Type.Results != nil {
		results = s.between(f.Type.Results.Pos(), f.Type.Results.End()) + " "
		form = "\nif plantedFault == %q {\nreturn func() %s%s()\n}\n"
	}
	return fmt.Sprintf(form, planted.fault, results, planted.text)
}
