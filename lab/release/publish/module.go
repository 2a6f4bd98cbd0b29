// Package publish makes the published form of the modules of this project. In the checkout, modules find each other
// through replace directives, with the version v0.0.0. The go command refuses to install a command from a module with
// such directives, and ignores them in modules that others require. In the published form there are none: each module
// requires the others at the version of the release, and its go.sum has their hashes.
package publish

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// Home is the path of the root module. The paths of all others begin with it.
const Home = "github.com/leasehold-go/leasehold"

// Module is a module of this project.
type Module struct {
	// Path is what programs import.
	Path string
	// Dir is its folder in the repository, with slashes: "." is the root.
	Dir string

	requires []string // other modules of this project
}

// Tag returns the git tag of a version of the module: the go command looks for it.
func (m Module) Tag(version string) string { return path.Join(m.Dir, version) }

// Public reports whether the module is for users. What is in the folder lab is not.
func (m Module) Public() bool { return !strings.HasPrefix(m.Dir, "lab/") }

// Modules returns the modules that go.work in the folder root lists, each after those that it requires.
func Modules(root string) ([]Module, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil, err
	}
	var all []Module
	for _, use := range work.Use {
		m := Module{Dir: path.Clean(use.Path)}
		file, err := readModFile(root, m)
		if err != nil {
			return nil, err
		}
		m.Path = file.Module.Mod.Path
		if want := path.Join(Home, m.Dir); m.Path != want {
			return nil, fmt.Errorf("%s/go.mod: the module is %s: in this folder it must be %s", m.Dir, m.Path, want)
		}
		for _, r := range file.Require {
			if isOurs(r.Mod.Path) {
				m.requires = append(m.requires, r.Mod.Path)
			}
		}
		all = append(all, m)
	}
	return sorted(all)
}

// sorted returns the modules in an order in which each comes after those that it requires.
func sorted(all []Module) ([]Module, error) {
	var done []Module
	known := map[string]bool{}
	for len(done) < len(all) {
		before := len(done)
		for _, m := range all {
			if !known[m.Path] && allKnown(known, m.requires) {
				known[m.Path] = true
				done = append(done, m)
			}
		}
		if len(done) == before {
			return nil, fmt.Errorf("modules require each other in a circle, or one that go.work does not list")
		}
	}
	return done, nil
}

func allKnown(known map[string]bool, paths []string) bool {
	for _, p := range paths {
		if !known[p] {
			return false
		}
	}
	return true
}

func isOurs(p string) bool { return p == Home || strings.HasPrefix(p, Home+"/") }

func modFilePath(root string, m Module) string {
	return filepath.Join(root, filepath.FromSlash(m.Dir), "go.mod")
}

func readModFile(root string, m Module) (*modfile.File, error) {
	name := modFilePath(root, m)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, text, nil)
}
