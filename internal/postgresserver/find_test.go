package postgresserver

import (
	"errors"
	"path/filepath"
	"testing"
)

// Without its folder in PATH a server is found where Debian has it, and nowhere else.
func TestFind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	folders, err := filepath.Glob(Folders)
	if err != nil {
		t.Fatal(err)
	}
	path, err := find("postgres")
	if len(folders) == 0 != errors.Is(err, ErrMissing) || err == nil && filepath.Base(path) != "postgres" {
		t.Errorf("found in %v: %q, %v", folders, path, err)
	}
	if path, err := find("no-such-program"); !errors.Is(err, ErrMissing) {
		t.Errorf("found: %q, %v", path, err)
	}
}
