package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/driver"
)

const nobody = 65534

func init() { roles["open as nobody"] = openAsNobody }

// openAsNobody opens files with the rights of a user who owns nothing.
func openAsNobody(paths []string) error {
	runtime.LockOSThread() // the user id for files belongs to a thread
	if err := unix.Setfsuid(nobody); err != nil {
		return err
	}
	for _, path := range paths {
		_, err := Open(path)
		fmt.Println(driver.IsPermanent(err), err)
	}
	return nil
}

func TestFilesWithoutTheRights(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user")
	}
	folder := t.TempDir()
	make := func(name string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		e, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Close(), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	readOnly, unreadable := make("read-only", 0o444), make("unreadable", 0o600)
	if err := errors.Join(os.Chmod(filepath.Dir(folder), 0o755), os.Chmod(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	paths := []string{readOnly, unreadable, filepath.Join(folder, "new")}
	p := start(t, "open as nobody", paths...)
	for _, path := range paths {
		var permanent bool
		line := p.line(t)
		if _, err := fmt.Sscan(line, &permanent); err != nil || !permanent {
			t.Errorf("%s: %q, want a permanent error", path, line)
		}
		for _, part := range []string{path, "right"} {
			if !strings.Contains(line, part) {
				t.Errorf("%q does not contain %q", line, part)
			}
		}
	}
	p.finish(t)
}
