package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Prepare brings the checkout in the folder root, which must be one of git, into the published form of a version, and
// stores the public modules in the folder proxy, from which the go command can read them (GOPROXY=file://...).
//
// The modules in lab are not published. They keep their replace directives, but require the version, too: so they can
// still be built from the checkout.
func Prepare(root, proxy, version string) ([]Module, error) {
	if semver.Canonical(version) != version || semver.Build(version) != "" {
		return nil, fmt.Errorf("%q is no version of a module: it must be like v0.1.0 or v0.1.0-rc.1", version)
	}
	if major := semver.Major(version); major != "v0" && major != "v1" {
		return nil, fmt.Errorf("%s: from v2 on, the paths of modules end in /%s, which this program does not do",
			version, major)
	}
	modules, err := Modules(root)
	if err != nil {
		return nil, err
	}
	var sums []string // of the modules that are done
	for _, m := range modules {
		if err := rewrite(root, m, version, sums); err != nil {
			return nil, err
		}
		if !m.Public() {
			continue
		}
		lines, err := store(root, proxy, m, version)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		sums = append(sums, lines...)
	}
	return modules, nil
}

// rewrite changes go.mod and go.sum of a module.
func rewrite(root string, m Module, version string, sums []string) error {
	file, err := readModFile(root, m)
	if err != nil {
		return err
	}
	for _, path := range m.requires {
		if err := file.AddRequire(path, version); err != nil {
			return err
		}
	}
	if !m.Public() {
		return write(root, m, file)
	}
	for _, r := range slices.Clone(file.Replace) {
		if !isOurs(r.Old.Path) {
			return fmt.Errorf("%s/go.mod replaces %s: a published module must do without", m.Dir, r.Old.Path)
		}
		if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return err
		}
	}
	if err := write(root, m, file); err != nil {
		return err
	}
	return addSums(filepath.Join(filepath.Dir(modFilePath(root, m)), "go.sum"), m.requires, sums)
}

func write(root string, m Module, file *modfile.File) error {
	file.Cleanup()
	text, err := file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(modFilePath(root, m), text, 0o644)
}

// addSums adds to a go.sum those lines of sums that are about the modules with these paths.
func addSums(name string, paths, sums []string) error {
	if len(paths) == 0 {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range sums {
		if path, _, _ := strings.Cut(line, " "); slices.Contains(paths, path) {
			lines = append(lines, line)
		}
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	slices.SortFunc(lines, compareSums)
	return os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// compareSums orders lines of a go.sum as the go command does.
func compareSums(a, b string) int {
	wordsA, wordsB := strings.Fields(a), strings.Fields(b)
	mods := []module.Version{{Path: wordsA[0], Version: wordsA[1]}, {Path: wordsB[0], Version: wordsB[1]}}
	if mods[0] == mods[1] {
		return strings.Compare(a, b)
	}
	first := mods[0]
	module.Sort(mods)
	if mods[0] == first {
		return -1
	}
	return 1
}
