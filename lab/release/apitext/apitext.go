// Package apitext writes down what packages export, a line for each thing, in the form of the files in the folder api
// of Go itself. A line that is removed breaks programs; a line that is added does not.
package apitext

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Lines returns what the packages of the module in the folder dir export: all but commands, examples, and what is
// internal. They are those for Linux.
func Lines(dir string) ([]string, error) {
	loaded, err := packages.Load(&packages.Config{
		Dir: dir,
		Env: append(os.Environ(), "GOOS=linux", "GOARCH=amd64"),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes |
			packages.NeedModule,
	}, "./...")
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, p := range loaded {
		for _, e := range p.Errors {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, e)
		}
		if p.Name == "main" || slices.Contains(strings.Split(p.PkgPath, "/"), "internal") || isTool(p.PkgPath) {
			continue
		}
		lines = append(lines, packageLines(p.Types)...)
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// isTool reports whether a package is in a folder of tools, which promises nothing to users.
func isTool(path string) bool { return slices.Contains(strings.Split(path, "/"), "lab") }
