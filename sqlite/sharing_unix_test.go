//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

// A file that others could write or replace is refused, and not changed, unless it is shared on purpose.
func TestFilesThatOthersCouldWrite(t *testing.T) {
	t.Parallel()
	const group, nobody = 4711, 65534 // a group without members here
	stranger := 0                     // only root can change owners
	if os.Getuid() == 0 {
		stranger = nobody
	}
	for name, c := range map[string]struct {
		prepare func(path string) error
		says    string // what is wrong
		shared  string // with share=group; empty if it is accepted
		root    bool   // needs another user
	}{
		"file for all": {func(path string) error {
			return putFile(path, 0o666)
		}, "file", "file", false},
		"file for group": {func(path string) error {
			return errors.Join(putFile(path, 0o660), os.Chown(path, -1, group))
		}, "group 4711 may write the file", "", true},
		"private group": {func(path string) error { return putFile(path, 0o660) }, "", "", false},
		"folder for all": {func(path string) error {
			return os.Chmod(filepath.Dir(path), 0o777)
		}, "every user", "every user", false},
		"folder for all, sticky": {func(path string) error { // others could create the log beside it
			return os.Chmod(filepath.Dir(path), os.ModeSticky|0o777)
		}, "every user", "every user", false},
		"folder for group": {func(path string) error {
			return errors.Join(os.Chown(filepath.Dir(path), -1, group), os.Chmod(filepath.Dir(path), 0o770))
		}, "group 4711 may write the folder", "", true},
		"folder above for all": {func(path string) error {
			return os.Chmod(filepath.Dir(filepath.Dir(path)), 0o777)
		}, "every user", "every user", false},
		"folder above for all, sticky": {func(path string) error {
			return os.Chmod(filepath.Dir(filepath.Dir(path)), os.ModeSticky|0o777)
		}, "", "", false},
		"file of a stranger": {func(path string) error {
			return errors.Join(putFile(path, 0o600), os.Chown(path, nobody, 0))
		}, "file", "", true},
		"file of a stranger in another group": {func(path string) error {
			return errors.Join(putFile(path, 0o600), os.Chown(path, nobody, group))
		}, "file", "belongs to the user 65534", true},
		"folder of a stranger": {func(path string) error {
			return os.Chown(filepath.Dir(path), nobody, group)
		}, "folder", "belongs to the user 65534", true},
		"link of one's own": {func(path string) error {
			return errors.Join(
				os.Mkdir(filepath.Dir(path)+"/b", 0o700),
				os.Symlink("b/../b/real.db", path),
				putFile(filepath.Dir(path)+"/b/real.db", 0o600),
			)
		}, "", "", false},
		"link to what all may write": {func(path string) error {
			return errors.Join(os.Symlink("real.db", path), putFile(filepath.Dir(path)+"/real.db", 0o666))
		}, "real.db", "real.db", false},
		"link into a folder of all": {func(path string) error {
			to := filepath.Dir(path) + "/b"
			return errors.Join(
				os.Mkdir(to, 0o700),
				putFile(to+"/real.db", 0o600),
				os.Chmod(to, 0o777),
				os.Symlink(to+"/real.db", path),
			)
		}, "every user", "every user", false},
		"link of a stranger": {func(path string) error {
			return errors.Join(
				putFile(filepath.Dir(path)+"/real.db", 0o600),
				os.Symlink("real.db", path),
				os.Lchown(path, nobody, 0),
			)
		}, "symbolic link", "symbolic link", true},
		"log for all": {func(path string) error {
			return errors.Join(putFile(path, 0o600), putFile(path+"-wal", 0o666))
		}, "locks.db-wal (mode 666)", "locks.db-wal (mode 666)", false},
		"index of a stranger": {func(path string) error {
			return errors.Join(putFile(path, 0o600), putFile(path+"-shm", 0o600), os.Chown(path+"-shm", nobody, group))
		}, "locks.db-shm belongs to the user 65534", "locks.db-shm belongs to the user 65534", true},
		"journal of a stranger, and no file": {func(path string) error {
			return errors.Join(putFile(path+"-journal", 0o644), os.Chown(path+"-journal", nobody, group))
		}, "locks.db-journal belongs to the user 65534", "locks.db-journal belongs to the user 65534", true},
		"log for a group": {func(path string) error {
			return errors.Join(putFile(path, 0o600), putFile(path+"-wal", 0o660), os.Chown(path+"-wal", -1, group))
		}, "group 4711 may write the file", "", true},
		"link instead of a log": {func(path string) error {
			return errors.Join(
				putFile(path, 0o600),
				putFile(path+".other", 0o600),
				os.Symlink(path+".other", path+"-wal"),
			)
		}, "not a plain file", "not a plain file", false},
		"log for all beside what a link leads to": {func(path string) error {
			to := filepath.Dir(path) + "/real.db"
			return errors.Join(putFile(to, 0o600), putFile(to+"-wal", 0o666), os.Symlink(to, path))
		}, "real.db-wal", "real.db-wal", false},
		"link in a circle": {func(path string) error {
			return os.Symlink(path, path)
		}, "too many", "too many", false},
	} {
		if c.root && stranger == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []Sharing{Alone, Group, Everybody} {
				folder := filepath.Join(t.TempDir(), "a")
				path := filepath.Join(folder, "locks.db")
				if err := errors.Join(os.Mkdir(folder, 0o700), c.prepare(path)); err != nil {
					t.Fatal(err)
				}
				if s == Everybody && name == "link instead of a log" {
					continue // SQLite follows no link, and fails
				}
				want := map[Sharing]string{Alone: c.says, Group: c.shared}[s]
				e, err := Open(path, WithSharing(s))
				switch {
				case name == "link in a circle":
				case err == nil && want != "":
					t.Errorf("sharing %d: it was opened", s)
				case err != nil && (want == "" || !strings.Contains(err.Error(), want) || !driver.IsPermanent(err)):
					t.Errorf("sharing %d: %v, want %q", s, err, want)
				case err != nil && s == Alone && !strings.Contains(want, "link") && !strings.Contains(want, "plain") &&
					!strings.Contains(err.Error(), "share="):
					t.Errorf("it does not say how to share: %v", err)
				}
				if err == nil {
					if err := e.Close(); err != nil {
						t.Error(err)
					}
					continue
				}
				if info, err := os.Stat(path); err == nil && info.Size() > 0 {
					t.Error("something was written")
				}
			}
		})
	}
}

// putFile creates an empty file, which an engine would initialise.
func putFile(path string, mode os.FileMode) error {
	return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode))
}

func TestSharedFilesAreMadeForTheirGroup(t *testing.T) {
	t.Parallel()
	for s, want := range map[Sharing]os.FileMode{Alone: 0o600, Group: 0o660, Everybody: 0o666} {
		path := newPath(t)
		e, err := Open(path, WithSharing(s))
		if err != nil {
			t.Fatal(err)
		}
		mustTake(t, e, lock("a"))
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if info, err := os.Stat(path + suffix); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has mode %v, %v, want %o", suffix, info.Mode(), err, want)
			}
		}
		found := map[Sharing]string{Everybody: "warning file-writable"}[s]
		wantFound(t, e, found)
		x, err := e.Examine(t.Context())
		note := slices.IndexFunc(x.Findings, func(f driver.Finding) bool { return f.Code == "file-shared" })
		who := fmt.Sprintf("the group %d", os.Getgid())
		if err != nil || (note >= 0) != (s == Group) || note >= 0 && !strings.Contains(x.Findings[note].Text, who) {
			t.Errorf("sharing %d: found %+v, %v, want a note that names %s", s, x.Findings, err, who)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
