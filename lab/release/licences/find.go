// Package licences finds the licences of the code that a command links, checks that each is allowed, and writes their
// texts into one file, which nearly all of them demand of whoever passes the command on.
package licences

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Text is a file with a licence, or with a notice that goes with it.
type Text struct {
	// Module is the module whose packages are linked, with its version. The standard library is "Go".
	Module string
	// Name is the path of the file in the module.
	Name    string
	Content string
}

// files are the names of files that have licences or notices.
var files = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents)`)

// Find returns the texts of the modules, other than those below home, from which the package links something on one of
// these systems, such as linux/amd64. It looks into the folders of the linked packages and those above, up to the
// module's.
func Find(pkg, home string, systems []string) ([]Text, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	goroot := strings.TrimSpace(string(out))
	texts := map[Text]bool{}
	found := map[string]bool{} // modules
	for _, system := range systems {
		linked, err := list(pkg, system)
		if err != nil {
			return nil, err
		}
		for _, p := range linked {
			if p.isOurs(home) {
				continue
			}
			found[p.module()] = true
			if err := p.collect(goroot, texts); err != nil {
				return nil, err
			}
		}
	}
	var all []Text
	for t := range texts {
		all = append(all, t)
		if !isNotice(t.Name) {
			delete(found, t.Module)
		}
	}
	slices.SortFunc(all, func(a, b Text) int { return strings.Compare(a.Module+"\n"+a.Name, b.Module+"\n"+b.Name) })
	for m := range found {
		return nil, fmt.Errorf("%s has no file with a licence", m)
	}
	return all, nil
}

// linkedPackage is a package as go list prints it.
type linkedPackage struct {
	Dir      string
	Standard bool
	Module   *struct{ Path, Version, Dir string }
}

func list(pkg, system string) (all []linkedPackage, err error) {
	goos, arch, _ := strings.Cut(system, "/")
	c := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module", pkg)
	c.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pkg, err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p linkedPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

func (p linkedPackage) isOurs(home string) bool {
	return p.Module != nil && (p.Module.Path == home || strings.HasPrefix(p.Module.Path, home+"/"))
}

func (p linkedPackage) module() string {
	if p.Standard {
		return "Go"
	}
	return p.Module.Path + " " + p.Module.Version
}

// collect adds the texts in the package's folder and in those above.
func (p linkedPackage) collect(goroot string, texts map[Text]bool) error {
	top := goroot
	if !p.Standard {
		top = p.Module.Dir
	}
	for dir := p.Dir; ; dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() || !files.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			content, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			name, err := filepath.Rel(top, filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			texts[Text{p.module(), filepath.ToSlash(name), string(content)}] = true
		}
		if dir == top {
			return nil
		}
		if len(dir) <= len(top) {
			return fmt.Errorf("package folder %s is not in %s", p.Dir, top)
		}
	}
}
