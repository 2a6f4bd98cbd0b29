package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

func TestExamineFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e := openFile(t, path)
	x, err := e.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Servers) != 1 {
		t.Fatalf("the servers are %+v", x.Servers)
	}
	p := x.Servers[0]
	if p.Name != path || !p.Votes || p.RoundTrip <= 0 || p.Uptime >= 0 || p.HasClock || p.Err != nil || p.Closed != 0 {
		t.Errorf("the server is %+v", p)
	}
	for _, f := range x.Findings {
		if f.Severity > driver.Note {
			t.Errorf("found %+v", f)
		}
	}
}

// Examine finds what happens to the file while it is in use.
func TestExamineFindsWhatWasDoneToTheFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e := openFile(t, path)
	chmod := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Dir(path)
	chmod(filepath.Dir(folder), 0o711) // a folder of the test alone
	chmod(folder, 0o755)
	wantFound(t, e, "")
	chmod(path, 0o644)
	wantFound(t, e, "warning file-readable")
	chmod(filepath.Dir(folder), 0o700) // others have no access to it
	wantFound(t, e, "")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	openFile(t, path)
	wantFound(t, e, "critical file-replaced")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err := e.Examine(t.Context()); !driver.IsPermanent(err) {
		t.Errorf("an engine that is closed: %+v, %v", x, err)
	}
}

func wantFound(t *testing.T, e *Engine, want string) {
	t.Helper()
	x, err := e.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range x.Findings {
		if f.Severity > driver.Note {
			found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
		}
	}
	if got := strings.Join(found, ", "); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestExamineJudges(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*fileReport){
		"":                            func(*fileReport) {},
		"critical tokens-damaged":     func(s *fileReport) { s.metaEmpty = true },
		"critical journal-mode":       func(s *fileReport) { s.journalMode = "delete" },
		"warning folder-not-writable": func(s *fileReport) { s.folderErr = errors.New("permission denied") },
		"warning file-readable":       func(s *fileReport) { s.mode, s.worldReadable = 0o664, true },
		"warning disk-nearly-full":    func(s *fileReport) { s.freeBytes = minFreeBytes - 1 },
		"critical disk-full":          func(s *fileReport) { s.freeBytes = 0 },
		"note disk-not-looked-at":     func(s *fileReport) { s.freeBytes = -1 },
		"warning log-grows":           func(s *fileReport) { s.logBytes = unboundedLogBytes + 1 },
		"note wall-clock":             func(s *fileReport) { s.wallClock = true },
	} {
		r := fileReport{journalMode: "wal", mode: 0o660, freeBytes: minFreeBytes}
		change(&r)
		var found []string
		for _, f := range r.judge("/locks.db") {
			found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
			if f.Server != "/locks.db" || f.Text == "" || f.Fix == "" {
				t.Errorf("it says %+v", f)
			}
		}
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}
