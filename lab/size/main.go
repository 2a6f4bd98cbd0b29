// Size prints how large the project is, from a reader's point of view. Run it in the root of the project:
//
//	go run ./lab/size
//
// It counts what git knows: files that are not added are left out.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxColumns = 120
	tabColumns = 4
	maxLines   = 60 // of a function
)

// size is what is counted of Go files.
type size struct {
	files, lines, wide, longFunctions int
	interfaces, names, methods        int // exported
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run() error {
	known, err := exec.Command("git", "ls-files").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	folders := map[string]*size{}
	var all, tests size
	words, decisions := 0, 0
	for file := range strings.Lines(string(known)) {
		file = strings.TrimSuffix(file, "\n")
		text, err := os.ReadFile(file)
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(file, "docs/decisions/"):
			decisions++
		case path.Ext(file) == ".md" && isPage(file):
			words += len(bytes.Fields(text))
		case strings.HasSuffix(file, "_test.go"):
			err = cmp.Or(tests.add(file, text), all.add(file, text))
		case path.Ext(file) == ".go":
			of := folders[path.Dir(file)]
			if of == nil {
				of = &size{}
				folders[path.Dir(file)] = of
			}
			err = cmp.Or(of.add(file, text), all.add(file, text))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	fmt.Printf("Go files %d, lines %d (tests %d), over %d columns %d, functions of more than %d lines %d (tests %d)\n",
		all.files, all.lines, tests.lines, maxColumns, all.wide, maxLines, all.longFunctions, tests.longFunctions)
	fmt.Printf("words of documents %d, decisions %d\n", words, decisions)
	for _, folder := range []string{".", "admin", "driver", "redis", "redis/redlock", "postgres", "etcd", "zookeeper"} {
		if s := folders[folder]; s != nil {
			fmt.Printf("%-14s files %3d  lines %5d  exported names %3d, methods %3d, interfaces %d\n",
				folder, s.files, s.lines, s.names, s.methods, s.interfaces)
		}
	}
	return nil
}

// isPage reports whether users or contributors read a file as documentation.
func isPage(file string) bool {
	return slices.Contains([]string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}, file) ||
		strings.HasPrefix(file, "docs/") || strings.HasPrefix(file, "deploy/")
}

// add counts a file.
func (s *size) add(file string, text []byte) error {
	s.files++
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		s.lines++
		if tabs := strings.Count(lines.Text(), "\t"); utf8.RuneCount(lines.Bytes())+tabs*(tabColumns-1) > maxColumns {
			s.wide++
		}
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if files.Position(d.End()).Line-files.Position(d.Pos()).Line >= maxLines {
				s.longFunctions++
			}
			switch {
			case !d.Name.IsExported():
			case d.Recv == nil:
				s.names++
			case isExported(d.Recv.List[0].Type):
				s.methods++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				s.addSpec(spec)
			}
		}
	}
	return nil
}

// addSpec counts the exported names of a declaration.
func (s *size) addSpec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		s.names++
		if _, is := spec.Type.(*ast.InterfaceType); is {
			s.interfaces++
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				s.names++
			}
		}
	}
}

// isExported reports whether the type of a receiver is exported.
func isExported(receiver ast.Expr) bool {
	switch t := receiver.(type) {
	case *ast.StarExpr:
		return isExported(t.X)
	case *ast.IndexExpr:
		return isExported(t.X)
	case *ast.IndexListExpr:
		return isExported(t.X)
	case *ast.Ident:
		return t.IsExported()
	}
	return false
}
