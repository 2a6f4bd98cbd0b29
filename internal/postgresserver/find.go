package postgresserver

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// ErrMissing means that PostgreSQL is not installed on this machine.
var ErrMissing = errors.New(
	"postgresserver: postgres and initdb are missing: install them (on Debian: apt-get install postgresql), or put " +
		"their folder into PATH",
)

// ErrNoBouncer means that PgBouncer is not installed on this machine.
var ErrNoBouncer = errors.New(
	"postgresserver: pgbouncer is missing: install it (on Debian: apt-get install pgbouncer), or put its folder into " +
		"PATH",
)

// Folders are where the programs of the server are if they are not in PATH, as on Debian, where the version is a part
// of the path.
const Folders = "/usr/lib/postgresql/*/bin"

// find returns the path of a program.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.EvalSymlinks(path) // postgres looks for its files relative to its own path
	}
	folders, _ := filepath.Glob(Folders) // the pattern is valid
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

// beside returns the path of a program of the same version as the server. A program of that name in PATH may be of
// another version, or a script that chooses a version.
func (s *Server) beside(name string) (string, error) {
	path, err := exec.LookPath(filepath.Join(filepath.Dir(s.postgres), name))
	if err != nil {
		return "", fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	return path, nil
}

// findBouncer returns the path of PgBouncer, which Debian keeps outside the PATH of ordinary users.
func findBouncer() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoBouncer
}
