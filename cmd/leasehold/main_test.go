//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// noSystemFile keeps the config file of the machine that runs the tests out of them.
const noSystemFile = "-X github.com/leasehold-go/leasehold/cmd/leasehold/internal/config.SystemFile=" +
	"/nonexistent/config.toml"

// testTimeout is how long a test waits for something that should happen at once. Only tests that fail wait that long.
const testTimeout = time.Minute

// binary is the command under test. All tests here run it as a real process.
var (
	binary     string
	buildFlags = []string{"build", "-ldflags=-s -w " + noSystemFile} // -s and -w: faster to link
)

func TestMain(m *testing.M) {
	if helper := os.Getenv("LEASEHOLD_TEST_HELPER"); helper != "" {
		helpers[helper]()
		os.Exit(0)
	}
	waitForDeadline()
	os.Exit(build(m))
}

// waitForDeadline makes more tests run at the same time than there are processors, unless -parallel is given: most of
// them only wait for processes and leases to end.
func waitForDeadline() {
	flag.Parse()
	if given("test.parallel") {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(6+runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
}

func given(name string) (yes bool) {
	flag.Visit(func(f *flag.Flag) { yes = yes || f.Name == name })
	return yes
}

func build(m *testing.M) int {
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(sig) { // as under nohup: a shell cannot trap a signal that was ignored when it started
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	dir, err := os.MkdirTemp("", "leasehold")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "leasehold")
	out, err := exec.Command("go", append(buildFlags, "-o", binary, ".")...).CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "the command does not build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// machine is a home folder with its own engine.
type machine struct {
	t    *testing.T
	home string
	db   string
	env  []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	home := t.TempDir()
	m := &machine{t: t, home: home, db: filepath.Join(home, "locks.db")}
	m.env = append(overlay.Environ(), "HOME="+home, "PATH="+os.Getenv("PATH"), "LEASEHOLD_ENGINE=sqlite:"+m.db,
		// The race detector would make each process wait for a second before it ends.
		"GORACE=atexit_sleep_ms=0")
	return m
}

func (m *machine) command(args ...string) *exec.Cmd {
	c := exec.Command(binary, args...)
	c.Env = m.env
	c.Dir = m.home
	return c
}

// result says how a run of the command ended.
type result struct {
	code     int
	out, err string
}

// do runs the command to its end.
func (m *machine) do(args ...string) result {
	m.t.Helper()
	return finish(m.t, m.command(args...))
}

func finish(t *testing.T, c *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return result{c.ProcessState.ExitCode(), out.String(), errs.String()}
}

// want fails the test unless the exit code is code.
func (r result) want(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d; stdout %q, stderr %q", r.code, code, r.out, r.err)
	}
	return r
}

// process is a running command.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    *os.File    // standard input
	lines chan string // of standard output; closed when all processes that have it have ended
	errs  string      // the file for standard error
}

// start starts the command.
func (m *machine) start(args ...string) *process {
	m.t.Helper()
	return m.begin(m.command(args...))
}

func (m *machine) begin(c *exec.Cmd) *process {
	m.t.Helper()
	// A pipe of our own: Wait would close exec's while children still write.
	r, w, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	input, in, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	p := &process{t: m.t, cmd: c, in: in}
	// A file, since exec would wait for all writers of a pipe.
	errs, err := os.CreateTemp(m.home, "stderr")
	if err != nil {
		m.t.Fatal(err)
	}
	defer errs.Close()
	p.errs = errs.Name()
	c.Stdin, c.Stdout = input, w
	if c.Stderr == nil {
		c.Stderr = errs
	}
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	w.Close()
	input.Close()
	m.t.Cleanup(func() { in.Close() })
	p.lines = read(r)
	m.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return p
}

// read sends the lines of r, and closes the channel at its end.
func read(r io.ReadCloser) chan string {
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer r.Close()
		for s := bufio.NewScanner(r); s.Scan(); {
			lines <- strings.TrimRight(s.Text(), "\r")
		}
	}()
	return lines
}

// line returns the next line of standard output.
func (p *process) line() string {
	p.t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			p.t.Fatalf("standard output has ended, a line was expected")
		}
		return l
	case <-time.After(testTimeout):
		p.t.Fatalf("no line on standard output")
	}
	return ""
}

// remaining waits until every process with this standard output has ended, and returns the lines that came until then.
func (p *process) remaining() []string {
	p.t.Helper()
	var rest []string
	limit := time.After(testTimeout)
	for {
		select {
		case l, ok := <-p.lines:
			if !ok {
				return rest
			}
			rest = append(rest, l)
		case <-limit:
			p.t.Fatal("processes of the run are still there")
		}
	}
}

// signal sends a signal to the command only.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits for the end of the command.
func (p *process) wait() result {
	p.t.Helper()
	err := p.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		p.t.Fatal(err)
	}
	errs, err := os.ReadFile(p.errs)
	if err != nil {
		p.t.Fatal(err)
	}
	return result{code: p.cmd.ProcessState.ExitCode(), err: string(errs)}
}
