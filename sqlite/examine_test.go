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
	if len(x.Places) != 1 {
		t.Fatalf("the places are %+v", x.Places)
	}
	if p := x.Places[0]; p.Name != path || !p.Votes || p.RoundTrip <= 0 || p.Uptime >= 0 || p.HasClock || p.Err != nil || p.Closed != 0 {
		t.Errorf("the place is %+v", p)
	}
	for _, f := range x.Findings {
		if f.Severity > driver.Note {
			t.Errorf("found %+v", f)
		}
	}
}

// What happens to the file while it is in use is found.
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
	chmod(filepath.Dir(folder), 0o711) // which is the test's alone
	chmod(folder, 0o755)
	wantFound(t, e, "")
	chmod(path, 0o644)
	wantFound(t, e, "warning file-readable")
	chmod(filepath.Dir(folder), 0o700) // others do not get there
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
	for want, change := range map[string]func(*state){
		"":                            func(*state) {},
		"critical tokens-damaged":     func(s *state) { s.emptied = true },
		"critical journal-mode":       func(s *state) { s.journal = "delete" },
		"warning folder-not-writable": func(s *state) { s.folder = errors.New("permission denied") },
		"warning file-readable":       func(s *state) { s.mode, s.open = 0o664, true },
		"warning disk-nearly-full":    func(s *state) { s.free = scarce - 1 },
		"critical disk-full":          func(s *state) { s.free = 0 },
		"note disk-not-looked-at":     func(s *state) { s.free = -1 },
		"warning log-grows":           func(s *state) { s.log = endlessLog + 1 },
		"note wall-clock":             func(s *state) { s.wallClock = true },
	} {
		s := state{journal: "wal", mode: 0o660, free: scarce}
		change(&s)
		var found []string
		for _, f := range s.judge("/locks.db") {
			found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
			if f.Place != "/locks.db" || f.Text == "" || f.Mend == "" {
				t.Errorf("it says %+v", f)
			}
		}
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}
