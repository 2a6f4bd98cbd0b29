//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stubborn is a program that ignores SIGTERM, as its child and grandchild do. It prints the number of its group and the
// deadline.
const stubborn = `trap 'echo TERM' TERM
sh -c 'trap "" TERM; sh -c "echo \$\$; exec sleep 1000" & wait' &
echo $$ $LEASEHOLD_DEADLINE_UNIX_MS
while :; do wait; done`

// readStart reads the first lines of stubborn, whose order may vary.
func readStart(t *testing.T, p *process) (group int, deadline time.Time) {
	t.Helper()
	for range 2 {
		first, second, both := strings.Cut(p.line(), " ")
		if !both {
			continue
		}
		ms, err := strconv.ParseInt(second, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if group, err = strconv.Atoi(first); err != nil {
			t.Fatal(err)
		}
		deadline = time.UnixMilli(ms)
	}
	return group, deadline
}

// soon shortens the time until SIGKILL, so that a busy machine has time left until the deadline.
var soon = []string{"--kill-after", "300ms"}

func wantNoGroup(t *testing.T, group int) {
	t.Helper()
	if err := syscall.Kill(-group, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("group %d is still there: %v", group, err)
	}
}

func TestForcedReleaseEndsTheGroupBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"term", "kill"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			pace := keepPace(t)
			m := newMachine(t)
			args := []string{"run", "--ttl", "6s", "--on-lost", policy}
			if policy == "term" {
				args = append(args, soon...)
			}
			p := m.start(append(args, "a", "--", "sh", "-c", stubborn)...)
			group, deadline := readStart(t, p)
			m.do("release", "--force", "--yes", "a").want(t, 0)
			r := p.wait().want(t, 70)
			pace.wantBefore(t, deadline)
			wantNoGroup(t, group)
			heard := strings.Join(p.remaining(), " ")
			if want := map[string]string{"term": "TERM", "kill": ""}[policy]; heard != want {
				t.Errorf("the group heard %q, want %q", heard, want)
			}
			if !strings.Contains(r.err, `"a" is lost`) || strings.Count(r.err, "\n") != 1 {
				t.Errorf("stderr %q", r.err)
			}
		})
	}
}

func TestGroupEndsWithAnObedientProgramToo(t *testing.T) {
	t.Parallel()
	pace := keepPace(t)
	m := newMachine(t)
	p := m.start("run", "--ttl", "6s", soon[0], soon[1], "a", "--", "sh", "-c",
		`sh -c 'trap "" TERM; echo $$; exec sleep 1000' &
echo $$ $LEASEHOLD_DEADLINE_UNIX_MS; wait`)
	group, deadline := readStart(t, p)
	m.do("release", "--force", "--yes", "a").want(t, 0)
	p.wait().want(t, 70)
	pace.wantBefore(t, deadline)
	wantNoGroup(t, group)
}

func TestForcedReleaseLetsTheNextOneIn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.start("run", "--ttl", "3s", "a", "--", "sh", "-c",
		`trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done`)
	p.line()
	m.do("release", "--force", "--yes", "a").want(t, 0)
	m.do("run", "-n", "a", "--", "true").want(t, 0)
	if got := p.line(); got != "bye" {
		t.Errorf("the group said %q", got)
	}
	p.wait().want(t, 70) // although the child has exited with 0
}

func TestWarnLetsTheChildRunOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.start("run", "--ttl", "2s", "--on-lost", "warn", "a", "--", "sh", "-c", `echo up; read x; echo done; exit 3`)
	p.line()
	m.do("release", "--force", "--yes", "a").want(t, 0)
	// The next hold outlasts the old lease, so the loss has been noticed by then.
	m.do("run", "--ttl", "2s", "a", "--", "sleep", "2.5").want(t, 0)
	p.in.Close()
	if got := p.line(); got != "done" {
		t.Errorf("the child said %q", got)
	}
	if r := p.wait().want(t, 70); !strings.Contains(r.err, "the command runs on") {
		t.Errorf("stderr %q", r.err)
	}
}

func TestLossFoundAtReleaseIsReported(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.start("run", "--ttl", "10m", "a", "--", "sh", "-c", `echo up; read x`)
	p.line()
	m.do("release", "--force", "--yes", "a").want(t, 0)
	p.in.Close() // long before the next renewal
	if r := p.wait().want(t, 70); !strings.Contains(r.err, "lost before the command ended") {
		t.Errorf("stderr %q", r.err)
	}
}

func TestMaxHoldGivesTheProgramItsTime(t *testing.T) {
	t.Parallel()
	const most, between = 500 * time.Millisecond, 4 * time.Second // more than a busy machine takes to start CMD
	m := newMachine(t)
	began := time.Now()
	p := m.start("run", "--max-hold", most.String(), "--kill-after", between.String(), "a", "--", "sh", "-c", stubborn)
	group, _ := readStart(t, p)
	if heard := p.line(); heard != "TERM" {
		t.Errorf("the group heard %q, want TERM", heard)
	}
	if took := time.Since(began); took < most {
		t.Errorf("the program was told to end after %s, and had %s", took, most)
	}
	r := p.wait().want(t, 70)
	if took := time.Since(began); took < most+between {
		t.Errorf("killed after %s, and had %s", took, most+between)
	}
	wantNoGroup(t, group)
	if !strings.Contains(r.err, "--max-hold 500ms") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("stderr %q", r.err)
	}
	m.do("run", "-n", "a", "--", "true").want(t, 0)
}

// Between SIGTERM and its end the program still works under the lock.
func TestMaxHoldKeepsTheLockUntilTheProgramHasEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "LH="+binary)
	p := m.start("run", "--ttl", "10m", "--kill-after", "3m", "--max-hold", "200ms", "a", "--", "sh", "-c",
		`trap '$LH check a; echo "check $?"; exit 0' TERM; while :; do sleep 0.05; done`)
	if got := p.line(); got != "check 1" {
		t.Errorf("after SIGTERM, leasehold says %q, want that it is held", got)
	}
	p.wait().want(t, 70) // although the program has exited with 0
	m.do("run", "-n", "a", "--", "true").want(t, 0)
}

func TestMaxHoldThatIsNotReachedChangesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	// Less than what is reserved for the end of a program whose lease cannot be renewed.
	if r := m.do("run", "--ttl", "10m", "--max-hold", "1m", "--kill-after", "2m", "a", "--", "sh", "-c",
		"echo done; exit 3").want(t, 3); r.out != "done\n" || r.err != "" {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
}

func TestMaxHoldWithWarnGivesUpTheLockAlone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.start("run", "--max-hold", "3s", "--on-lost", "warn", "a", "--", "sh", "-c",
		"echo up; read x; echo done; exit 3")
	p.line()
	m.do("run", "a", "--", "true").want(t, 0)
	p.in.Close()
	if got := p.line(); got != "done" {
		t.Errorf("the program said %q", got)
	}
	if r := p.wait().want(t, 70); !strings.Contains(r.err, "--max-hold 3s") || !strings.Contains(r.err, "runs on") {
		t.Errorf("stderr %q", r.err)
	}
}

func TestStoppedGroupDiesToo(t *testing.T) {
	t.Parallel()
	pace := keepPace(t)
	m := newMachine(t)
	p := m.start("run", "--ttl", "6s", soon[0], soon[1], "a", "--", "sh", "-c", stubborn)
	group, deadline := readStart(t, p)
	if err := syscall.Kill(-group, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	m.do("release", "--force", "--yes", "a").want(t, 0)
	p.wait().want(t, 70)
	pace.wantBefore(t, deadline)
	wantNoGroup(t, group)
	if heard := strings.Join(p.remaining(), " "); heard != "TERM" {
		t.Errorf("the group heard %q, want TERM", heard)
	}
}

func TestEngineOutOfReachEndsTheGroupBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second
	pace := keepPace(t)
	m := newMachine(t)
	fifo := filepath.Join(m.home, "alive") // open as long as a process of the group lives
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p := m.start("run", "--ttl", ttl.String(), "a", "--", "sh", "-c", "exec 9>alive; "+stubborn)
	alive, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	group, _ := readStart(t, p)

	m.lockFile()
	locked := time.Now()
	if _, err := io.ReadAll(alive); err != nil {
		t.Fatal(err)
	}
	pace.wantBefore(t, locked.Add(ttl))
	if r := p.wait().want(t, 70); !strings.Contains(r.err, "runs out") {
		t.Errorf("stderr %q", r.err)
	}
	wantNoGroup(t, group)
	if heard := strings.Join(p.remaining(), " "); heard != "TERM" {
		t.Errorf("the group heard %q, want TERM before the end", heard)
	}
}

// lockFile makes another program lock the engine's file until the test ends.
func (m *machine) lockFile() {
	m.t.Helper()
	db, err := sql.Open("sqlite", m.db)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(context.Background())
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := conn.ExecContext(context.Background(), "PRAGMA busy_timeout=5000; BEGIN EXCLUSIVE"); err != nil {
		m.t.Fatal(err)
	}
}

func TestKilledHolderFreesTheLock(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	m := newMachine(t)
	p := m.start("run", "--ttl", ttl.String(), "a", "--", "sh", "-c", "echo up; exec sleep 1000")
	p.line()
	next := m.start("run", "-w", "60s", "a", "--", "echo", "mine")
	p.signal(syscall.SIGKILL)
	orphan := p.remaining // its end closes the standard output
	if got := next.line(); got != "mine" {
		t.Errorf("the next one said %q", got)
	}
	if diesWithItsParent {
		orphan()
	}
}

func TestMessageThatNobodyReadsDelaysNothing(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(r *os.File) (script string){
		"closed": func(r *os.File) string { r.Close(); return "" },
		"full":   func(*os.File) string { return "head -c 65536 /dev/zero >&2; " },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			pace := keepPace(t)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			c := m.command("run", "--ttl", "6s", soon[0], soon[1], "a", "--", "sh", "-c", prepare(r)+stubborn)
			c.Stderr = w
			p := m.begin(c)
			w.Close()
			group, deadline := readStart(t, p)
			m.do("release", "--force", "--yes", "a").want(t, 0)
			p.wait().want(t, 70)
			pace.wantBefore(t, deadline.Add(time.Second)) // for so long the command waits for its reader
			wantNoGroup(t, group)
		})
	}
}
