package sqlite

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/driver"
)

// roleVariable has the test binary run a role of another test, in a process of its own.
const roleVariable = "LEASEHOLD_SQLITE_ROLE"

func TestMain(m *testing.M) {
	if name := os.Getenv(roleVariable); name != "" {
		if err := roles[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// process is another process that runs a role.
type process struct {
	*exec.Cmd
	lines  *bufio.Scanner
	stderr strings.Builder
}

// start starts a process, which ends with the test.
func start(t testing.TB, role string, args ...string) *process {
	t.Helper()
	p, input := startWithInput(t, role, args...)
	_ = input.Close()
	return p
}

// startWithInput is start with the input of the process left open.
func startWithInput(t testing.TB, role string, args ...string) (*process, io.Closer) {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...)}
	p.Env = append(os.Environ(), roleVariable+"="+role)
	p.Stderr = &p.stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	input, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.kill()
		}
	})
	return p, input
}

// line returns the next line that the process prints.
func (p *process) line(t testing.TB) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("the process said no more: %v; %s", p.Wait(), p.stderr.String())
	}
	return p.lines.Text()
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	_ = p.Process.Kill()
	_ = p.Wait() // reports that the process was killed
}

// finish waits for the process, which must succeed.
func (p *process) finish(t testing.TB) {
	t.Helper()
	if err := p.Wait(); err != nil {
		t.Fatalf("the process failed: %v; %s", err, p.stderr.String())
	}
}

func newPath(t testing.TB) string {
	return filepath.Join(t.TempDir(), "locks.db")
}

// openFile opens an engine that is closed with the test.
func openFile(t testing.TB, path string) *Engine {
	t.Helper()
	e, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, e)
	return e
}

func closeLater(t testing.TB, e *Engine) {
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// openAt opens an engine with a clock that the test controls.
func openAt(t testing.TB, path string, c clock) *Engine {
	t.Helper()
	e, err := open(path, c)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, e)
	return e
}

// lock returns a request for a lock by a new owner, for a minute.
func lock(name string) driver.Request {
	return driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: name},
		Owner:  rand.Text(),
		Size:   1,
		Weight: 1,
		TTL:    time.Minute,
		Tokens: 1,
		Holder: "test",
	}
}

func hold(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

func mustTake(t testing.TB, e *Engine, r driver.Request) driver.Grant {
	t.Helper()
	g, err := e.Take(t.Context(), r)
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	return g
}

func mustRelease(t testing.TB, e *Engine, r driver.Request) {
	t.Helper()
	if err := e.Release(context.Background(), driver.Release{Hold: hold(r)}); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

// countRows returns how many rows a table has.
func countRows(t testing.TB, e *Engine, table string) (n int) {
	t.Helper()
	err := e.read(t.Context(), func(v *view) error {
		return v.row([]any{&n}, "SELECT count(*) FROM "+table)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// eventually waits until another process or goroutine has done something.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}
