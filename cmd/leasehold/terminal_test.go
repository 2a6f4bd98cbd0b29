//go:build unix

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// screen is a terminal, and what runs on it.
type screen struct {
	process
	tty *os.File
}

// on starts a program on a new terminal.
func (m *machine) on(c *exec.Cmd) *screen {
	m.t.Helper()
	c.Env, c.Dir = m.env, m.home
	tty, err := pty.Start(c)
	if err != nil {
		m.t.Fatal(err)
	}
	// The terminal need not echo what is typed.
	s := &screen{process: process{t: m.t, cmd: c, lines: read(tty), errs: os.DevNull}, tty: tty}
	m.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait(); tty.Close() })
	return s
}

// shell runs a script with job control, in which $LH is the command.
func (m *machine) shell(script string) *screen {
	m.t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		m.t.Skip("bash is not there: nothing else here has job control")
	}
	m.env = append(m.env, "LH="+binary, "TEST_BINARY="+os.Args[0], "PS1=", "LC_ALL=C")
	return m.on(exec.Command(bash, "--norc", "-c", "stty -echo; set -m\n"+script))
}

func (s *screen) keys(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// see waits for a line that contains text, and returns all lines up to it.
func (s *screen) see(text string) string {
	s.t.Helper()
	var seen []string
	for limit := time.After(testTimeout); ; {
		select {
		case l, ok := <-s.lines:
			seen = append(seen, l)
			if strings.Contains(l, text) {
				return strings.Join(seen, "\n")
			}
			if !ok {
				s.t.Fatalf("the terminal is closed; no %q in %q", text, seen)
			}
		case <-limit:
			s.t.Fatalf("no %q in %q", text, seen)
		}
	}
}

// talking waits until the talker runs, and returns the process number of the command.
func (s *screen) talking() int {
	s.t.Helper()
	_, parent, _ := strings.Cut(s.see("is ready"), "child of ")
	pid, err := strconv.Atoi(strings.Fields(parent)[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
	ctrlZ = "\x1a"
)

// talker is a program that reads the terminal, and says when it is continued.
const talker = `env LEASEHOLD_TEST_HELPER=talker "$TEST_BINARY"`

// sleeper is a program that says when it is continued, and does not read the terminal.
const sleeper = `env LEASEHOLD_TEST_HELPER=sleeper "$TEST_BINARY"`

func TestChildIsInTheForeground(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.shell(`$LH run a -- env LEASEHOLD_TEST_HELPER=foreground "$TEST_BINARY"; read x; echo "read $x"`)
	if got := s.see("foreground:"); !strings.Contains(got, "foreground: true") {
		t.Errorf("%q", got)
	}
	s.keys("back\n") // the shell can read this only if it has its terminal back
	s.see("read back")
}

func TestChildMayReadTheTerminalAlthoughItsInputIsAPipe(t *testing.T) {
	t.Parallel()
	s := newMachine(
		t).shell(`echo x | $LH run a -- sh -c 'echo ready; read l </dev/tty; echo "read $l"'; echo "ended $?"`)
	s.see("ready")
	s.keys("this\n")
	s.see("read this")
	s.see("ended 0")
}

func TestCtrlCReachesTheChild(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.shell(`$LH run a -- sh -c 'trap "echo interrupted; exit 7" INT; echo ready; read x'; echo "ended $?"`)
	s.see("ready")
	s.keys(ctrlC)
	s.see("interrupted")
	s.see("ended 7")
	m.do("run", "-n", "a", "--", "true").want(t, 0)
}

func TestCtrlCEndsTheScriptToo(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.shell(`bash -c 'for i in 1 2 3; do $LH run a -- ` + talker + `; done'`)
	s.see("ready")
	s.keys(ctrlC)
	if got := strings.Join(s.remaining(), "\n"); strings.Contains(got, "ready") {
		t.Errorf("the script went on: %q", got)
	}
}

func TestCtrlCWhileWaitingEndsTheScriptToo(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	holder := m.start("run", "a", "--", "sh", "-c", "echo up; read x")
	holder.line()
	s := m.shell(`bash -c 'for i in 1 2 3; do $LH run a -- true; echo again; done'`)
	m.until("a waiter", func() bool { return strings.Contains(m.do("ls", "-o", "json").out, `"waiting":1`) })
	s.keys(ctrlC)
	if got := strings.Join(s.remaining(), "\n"); strings.Contains(got, "again") {
		t.Errorf("the script went on: %q", got)
	}
}

func TestCtrlZStopsAndFgContinues(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]string{
		"one":                   "$LH run a -- ",
		"one inside of another": "$LH run outer -- $LH run a -- ",
		"in a script":           `sh -c '"$@"; exit $?' - $LH run a -- `,
		"in a pipeline":         "cat </dev/null | $LH run a -- ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			s := m.shell(run + `sh -c 'exec </dev/tty; ` + talker + `'; echo "stopped $?"; read x; fg; echo "ended $?"`)
			s.see("is ready")
			s.keys(ctrlZ)
			s.see("stopped 1")
			m.do("run", "-n", "a", "--", "true").want(t, 75) // the lease is still valid
			s.keys("go\n")
			s.keys("hello\n")
			s.see("read hello")
			s.keys(ctrlD)
			s.see("ended 0")
		})
	}
}

func TestStopFromOutsideStopsBoth(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.shell(`$LH run a -- ` + talker + `; echo "stopped $?"; read x; fg; echo "ended $?"`)
	if err := syscall.Kill(s.talking(), syscall.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	s.see("stopped 1")
	s.keys("go\n")
	s.keys("hello\n")
	s.see("read hello")
	s.keys(ctrlD)
	s.see("ended 0")
}

func TestLeaseLostWhileStoppedNeverRunsOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.shell(`$LH run --ttl 1s a -- ` + sleeper + `; echo "stopped $?"; read x; fg; echo "ended $?"`)
	s.see("is ready")
	s.keys(ctrlZ)
	s.see("stopped 1")
	m.do("run", "a", "--", "true").want(t, 0) // others may have it now
	s.keys("go\n")
	if got := s.see("ended 70"); strings.Contains(got, "woken") || !strings.Contains(got, "is lost") {
		t.Errorf("%q", got)
	}
}

func TestStoppedJobRunsOnlyWithARenewedLease(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(m *machine){
		"renewed":    nil,
		"taken away": func(m *machine) { m.do("release", "--force", "--yes", "a").want(m.t, 0) },
		"no answer":  (*machine).lockFile,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			s := m.shell(`$LH run --ttl 9s a -- ` + sleeper + `; echo "stopped $?"; read x; fg; echo "ended $?"`)
			s.see("is ready")
			s.keys(ctrlZ)
			s.see("stopped 1")
			left := *decode[[]entry](t, m.do("ls", "-o", "json").want(t, 0))[0].Holders[0].TTL
			if meanwhile != nil {
				meanwhile(m)
			}
			// So late that there would be no time for SIGTERM, which takes 3.5 s.
			<-time.After(time.Duration(left)*time.Millisecond - 3300*time.Millisecond)
			s.keys("go\n")
			if meanwhile == nil {
				s.see("woken")
				s.keys(ctrlC)
				s.remaining()
				return
			}
			if got := s.see("ended 70"); strings.Contains(got, "woken") ||
				!strings.Contains(got, "is lost") && !strings.Contains(got, "runs out") {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestBackgroundJobWaitsForTheTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	// The shell says which of its jobs have stopped.
	s := m.shell(`$LH run a -- ` + talker +
		` & until [ -n "$(jobs -s)" ]; do sleep 0.05; done; echo it has stopped; read x; fg; echo "ended $?"`)
	s.see("it has stopped")
	s.keys("go\n")
	s.keys("hello\n")
	s.see("read hello")
	s.keys(ctrlD)
	s.see("ended 0")
}

// A script that sees leasehold end with a code, and not by a signal, leaves the terminal as it is.
func TestTerminalIsUsableAfterAProgramThatWasKilled(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]string{
		"by KILL":                    `$LH run a -- sh -c 'stty raw; kill -KILL $$'`,
		"by TERM":                    `$LH run a -- sh -c 'stty raw; kill -TERM $$'`,
		"while another group has it": `$LH run outer -- $LH run a -- sh -c 'stty raw; kill -KILL $PPID; sleep 10'`,
		"and what has it goes on":    `$LH run a -- bash -c 'set -m; sh -c "stty raw; kill -KILL \$PPID; sleep 10"; :'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(run, "PPID") && !diesWithItsParent {
				t.Skip("this system does not tell what belongs to a program that has been killed")
			}
			var got string
			for range 5 {
				s := newMachine(
					t).shell(
					`sh -c '"$@"; echo "code $?"; stty -a; env LEASEHOLD_TEST_HELPER=foreground "$TEST_BINARY"' - ` +
						run)
				got = s.see("foreground:")
				if !strings.Contains(got, "Stopped") {
					break
				}
				// The job of bash was stopped when it changed the modes, before it was in the foreground: nothing was
				// killed, so nothing is shown.
			}
			if strings.Contains(got, "-icanon") || !strings.Contains(got, "icanon") || strings.Contains(got, "code 0") {
				t.Errorf("the terminal was left in raw mode: %q", got)
			}
			if !strings.Contains(got, "foreground: true") {
				t.Errorf("the script does not have its terminal back: %q", got)
			}
		})
	}
}

// A run that waits on a terminal says who holds the lock, once, and not with --quiet. It says nothing after the grant.
func TestWaitingOnATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	holder := m.start("run", "--label", "deploys", "a", "--", "sh", "-c", "echo holds; read x")
	holder.line()
	quiet := m.on(m.command("run", "--quiet", "a", "--", "echo", "quiet has it"))
	m.until("it waits", func() bool { return strings.Contains(m.do("ls", "-o", "json").out, `"waiting":1`) })
	waiter := m.on(m.command("run", "a", "--", "echo", "waiter has it"))
	said := waiter.see("waiting for")
	want := regexp.MustCompile(`^leasehold: waiting for "a": held for [\d.]+m?s by [^ ]+@[^ ]+:\d+ sh deploys; `)
	if !want.MatchString(said) {
		t.Errorf("it says %q, want %s", said, want)
	}
	holder.in.Close()
	holder.wait().want(t, 1)
	if rest := waiter.see("waiter has it"); strings.Contains(rest, "waiting") {
		t.Errorf("it goes on saying %q", rest)
	}
	if said := quiet.see("quiet has it"); strings.Contains(said, "waiting") {
		t.Errorf("with --quiet it says %q", said)
	}
}
