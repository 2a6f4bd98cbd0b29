package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

func TestFilesAreForTheirUserAlone(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e := openFile(t, path)
	mustTake(t, e, lock("a"))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s%s has mode %o, want 600", path, suffix, mode)
		}
	}
}

func TestPathMayContainAnything(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ä b?mode=ro&x#%41+'.db")
	mustTake(t, openFile(t, path), lock("a"))
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestManyOpenANewFileAtOnce(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			e, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer e.Close()
			if _, err := e.Take(t.Context(), lock("a")); err != nil && !errors.Is(err, driver.ErrHeld) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A process that reads a file while another one initialises it sees the file as it was before, or after.
func TestFileIsInitialisedAtomically(t *testing.T) {
	t.Parallel()
	for range 10 {
		path := newPath(t)
		write(t, path, nil)
		db, err := sql.Open("sqlite", address(path, "ro"))
		if err != nil {
			t.Fatal(err)
		}
		c := &conn{db: db, flush: flushSometimes}
		founded := make(chan struct{})
		var looking sync.WaitGroup
		looking.Go(func() {
			for ours := false; !ours; {
				h, err := readHeaderOnce(c)
				if isBusy(err) {
					continue
				}
				if err = errors.Join(err, h.check()); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-founded:
					ours = h.isOurs()
				default:
				}
			}
		})
		openFile(t, path)
		close(founded)
		looking.Wait()
		if err := errors.Join(c.close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// makeDatabase creates the database of another application.
func makeDatabase(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", address(path, "rwc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, path string)
		says    string
	}{
		{"a database of another application", func(t *testing.T, path string) {
			makeDatabase(t, path, "CREATE TABLE invoices (id INTEGER)")
		}, "choose another path"},
		{"one in write-ahead logging", func(t *testing.T, path string) {
			makeDatabase(t, path, "PRAGMA journal_mode = WAL; CREATE TABLE invoices (id INTEGER)")
		}, "choose another path"},
		{"one with an id of its own", func(t *testing.T, path string) {
			makeDatabase(t, path, "PRAGMA application_id = 4711")
		}, "choose another path"},
		{"a newer version", func(t *testing.T, path string) {
			e, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			makeDatabase(t, path, "PRAGMA user_version = 2")
		}, "update this program"},
		{"no database", func(t *testing.T, path string) {
			write(t, path, bytes.Repeat([]byte("not a database\n"), 1000))
		}, "choose another path"},
		{"a damaged file", func(t *testing.T, path string) {
			makeDatabase(t, path, "CREATE TABLE a (b)")
			content := read(t, path)
			write(t, path, append(content[:100:100], bytes.Repeat([]byte{0xee}, len(content)-100)...))
		}, "the file is damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			test.prepare(t, path)
			before := read(t, path)
			checkRefused(t, path, test.says)
			if !bytes.Equal(read(t, path), before) {
				t.Error("the file has been changed")
			}
		})
	}
}

func TestRefusedPaths(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	checkRefused(t, folder, "name a file in it")
	checkRefused(t, filepath.Join(folder, "missing", "locks.db"), "make its folder first")
	checkRefused(t, os.DevNull, "not a plain file")
	checkRefused(t, "", "a path is needed")
	checkRefused(t, ":memory:", "package memory")
}

// checkRefused expects an error that is permanent, names the path, and contains a text.
func checkRefused(t *testing.T, path, says string) {
	t.Helper()
	e, err := Open(path)
	if err == nil {
		_ = e.Close()
		t.Fatalf("Open(%q) succeeded", path)
	}
	if !driver.IsPermanent(err) {
		t.Errorf("not permanent: %v", err)
	}
	for _, part := range []string{path, says} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not contain %q", err, part)
		}
	}
}

func TestDamageWhileInUse(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e := openFile(t, path)
	mustTake(t, e, lock("a"))
	// Another program drops a table.
	makeDatabase(t, path, "DROP TABLE holders")
	_, err := e.Take(t.Context(), lock("b"))
	if !driver.IsPermanent(err) || !strings.Contains(err.Error(), path) {
		t.Errorf("Take: %v, want a permanent error that names the file", err)
	}
}

func TestReplacedFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e := openFile(t, path)
	held := lock("a")
	mustTake(t, e, held)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	for _, when := range []string{"removed", "replaced"} {
		if _, err := e.Take(t.Context(), lock("b")); !driver.IsPermanent(err) || !errors.Is(err, errMoved) {
			t.Errorf("Take after the file was %s: %v", when, err)
		}
		e.Renew(t.Context(), []driver.Renewal{{Hold: hold(held), TTL: held.TTL}}, func(_ int, err error) {
			if !errors.Is(err, errMoved) {
				t.Errorf("Renew after the file was %s: %v", when, err)
			}
		})
		mustTake(t, openFile(t, path), lock(when))
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	e, err := Open(newPath(t))
	if err != nil {
		t.Fatal(err)
	}
	holder, waiter := lock("a"), lock("a")
	mustTake(t, e, holder)
	waited := make(chan error, 1)
	go func() {
		_, err := e.Wait(t.Context(), waiter)
		waited <- err
	}()
	eventually(t, "somebody waits", func() bool { return countRows(t, e, "waiters") == 1 })
	for range 2 {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if err := <-waited; !driver.IsPermanent(err) || !errors.Is(err, errClosed) {
		t.Errorf("Wait: %v", err)
	}
	if _, err := e.Take(t.Context(), lock("b")); !driver.IsPermanent(err) || !errors.Is(err, errClosed) {
		t.Errorf("Take: %v", err)
	}
	if _, err := e.List(t.Context(), driver.Query{}); !errors.Is(err, errClosed) {
		t.Errorf("List: %v", err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
