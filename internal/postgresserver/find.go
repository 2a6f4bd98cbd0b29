package postgresserver

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// ErrMissing means that there is no PostgreSQL on this machine.
var ErrMissing = errors.New("postgresserver: postgres and initdb are missing: install them (on Debian: apt-get install postgresql), or put their folder into PATH")

// Folders are where the programs of the server are that are not in PATH, as on Debian, with the version as the name of a folder.
const Folders = "/usr/lib/postgresql/*/bin"

// find returns the path of a program.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.EvalSymlinks(path) // postgres looks for its files from where it is
	}
	folders, _ := filepath.Glob(Folders) // the pattern is a good one
	slices.SortFunc(folders, func(a, b string) int { return version(b) - version(a) })
	for _, folder := range folders {
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w (%w)", ErrMissing, err)
}

func version(folder string) int {
	v, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
	if err != nil {
		return 0
	}
	return v
}
