package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/driver"
)

const nobody = 65534

func init() { roles["open as nobody"] = openAsNobody }

// openAsNobody opens files with the rights of a user who owns nothing.
func openAsNobody(paths []string) error {
	runtime.LockOSThread() // the user id for file access belongs to a thread
	if err := unix.Setfsuid(nobody); err != nil {
		return err
	}
	for _, path := range paths {
		e, err := Open(path)
		if err == nil {
			if page, failed := e.List(context.Background(), driver.Query{}); failed != nil || len(page) != 1 {
				return fmt.Errorf("the listing is %v, %w", page, failed)
			}
			failed := e.Leaks(context.Background(), driver.Query{}, func(driver.Leak) bool { return true })
			if failed != nil {
				return failed
			}
			x, failed := e.Examine(context.Background())
			if failed != nil {
				return failed
			}
			for _, f := range x.Findings {
				if f.Severity == driver.Critical || f.Code == "rights-look" && f.Severity != driver.Note {
					return fmt.Errorf("found %+v", f)
				}
			}
			_, err = e.Take(context.Background(), lock("a"))
			if failed := e.Close(); failed != nil {
				return failed
			}
		}
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
		held := lock("held")
		held.TTL = time.Hour
		mustTake(t, e, held)
		if err := errors.Join(e.Close(), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	readOnly, unreadable, used := make("read-only", 0o444), make("unreadable", 0o600), make("used", 0o444)
	e, err := Open(used)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := errors.Join(os.Chmod(filepath.Dir(folder), 0o755), os.Chmod(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	paths := []string{readOnly, used, unreadable, filepath.Join(folder, "new")}
	p := start(t, "open as nobody", paths...)
	for _, path := range paths {
		var permanent bool
		line := p.line(t)
		if _, err := fmt.Sscan(line, &permanent); err != nil || !permanent {
			t.Errorf("%s: %q, want a permanent error", path, line)
		}
		if looks := path == readOnly || path == used; looks != strings.Contains(line, "can list the locks") {
			t.Errorf("%s: %q", path, line)
		}
		for _, part := range []string{path, "right"} {
			if !strings.Contains(line, part) {
				t.Errorf("%q does not contain %q", line, part)
			}
		}
	}
	p.finish(t)
}
