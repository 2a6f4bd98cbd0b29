//go:build unix

package redis_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// roleVariable makes the test binary a process of another test: its value is the role ("hold" or "wait"), the address
// of the server, the name, and the ttl.
const roleVariable = "LEASEHOLD_REDIS_ROLE"

// TestRole is run by such a process. It ends with its input, so that it does not outlive the test.
func TestRole(t *testing.T) {
	words := strings.Fields(os.Getenv(roleVariable))
	if len(words) == 0 {
		return
	}
	e := unguarded(t, noRetries(words[1]))
	ttl, err := time.ParseDuration(words[3])
	if err != nil {
		t.Fatal(err)
	}
	r := lasting(words[2], ttl)
	switch words[0] {
	case "hold":
		mustTake(t, e, r)
		fmt.Println("held")
	case "wait":
		mustJoin(t, e, r)
		fmt.Println("waits")
		g, err := e.Wait(t.Context(), r)
		fmt.Println("granted", g.TTL-driver.Now().Since(g.Start) > 0, err)
	}
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		err := e.Release(t.Context(), driver.Release{Hold: hold(r)})
		fmt.Println("released", errors.Is(err, driver.ErrNotHeld), err)
	}
}

// process is another process that plays a role.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	input io.WriteCloser
	lines *bufio.Scanner
}

// startProcess starts a process, which ends with the test, and waits until it holds or waits.
func startProcess(t *testing.T, role string, s *redisserver.Server, name string, ttl time.Duration) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], "-test.run=^TestRole$")}
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %s", roleVariable, role, s.Addr(), name, ttl))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	p.lines = bufio.NewScanner(out)
	p.expect(map[string]string{"hold": "held", "wait": "waits"}[role])
	return p
}

// expect checks the next line that the process prints.
func (p *process) expect(want string) {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatalf("the process printed no more, want %q", want)
	}
	if got := p.lines.Text(); got != want {
		p.t.Errorf("the process printed %q, want %q", got, want)
	}
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // an error: the process was killed
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// stop sends SIGSTOP. It returns when the process has stopped.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	eventually(p.t, "the process is stopped", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
		return err == nil && strings.Contains(string(stat), ") T ")
	})
}

// remainingTTL is what is left of the lease on a name.
func remainingTTL(t *testing.T, s *redisserver.Server, name string) time.Duration {
	t.Helper()
	return time.Duration(command(t, s, "PTTL", "lock:"+name).(int64)) * time.Millisecond
}

// The next waiter is granted the lock when the ttl of a killed holder has passed: not earlier, and not much later.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	p := startProcess(t, "hold", s, "a", 2*time.Second)
	r := mustJoin(t, e, lock("a"))
	p.kill()
	began := time.Now()
	rest := remainingTTL(t, s, "a")
	got := granted(t, startWait(t, e, r))
	took := got.at.Sub(began)
	if took < rest-time.Millisecond || took > rest+soon {
		t.Errorf("the next had the lock after %v, want %v and not much more", took, rest)
	}
	release(t, e, r)
	checkNothingLeft(t, s)
}

// queueTest is a queue whose head is another process. All ask for "a".
type queueTest struct {
	s      *redisserver.Server
	e      *redis.Engine // of the holder and of the second waiter
	holder driver.Request
	head   *process
	next   driver.Request
	got    <-chan grant // of the second waiter
}

func newQueueTest(t *testing.T) *queueTest {
	q := &queueTest{s: redisserver.ForTest(t, redisserver.Config{}), holder: lasting("a", time.Minute)}
	q.e = unguarded(t, standalone(q.s))
	mustTake(t, q.e, q.holder)
	q.head = startProcess(t, "wait", q.s, "a", time.Minute)
	q.next = mustJoin(t, q.e, lasting("a", time.Minute))
	q.got = startWait(t, q.e, q.next)
	awaitSubscriptions(t, q.s, 2)
	return q
}

// A killed head is passed over at the hand-over: it does not cost its first lease.
func TestKilledHead(t *testing.T) {
	t.Parallel()
	q := newQueueTest(t)
	q.head.kill()
	awaitSubscriptions(t, q.s, 1)
	began := time.Now()
	release(t, q.e, q.holder)
	if took := granted(t, q.got).at.Sub(began); took > soon {
		t.Errorf("the second waiter had the lock after %v, want at once", took)
	}
	release(t, q.e, q.next)
	checkNothingLeft(t, q.s)
}

func TestKilledWaiterInTheMiddle(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	holder := lasting("a", time.Minute)
	mustTake(t, e, holder)
	head := mustJoin(t, e, lasting("a", time.Minute))
	p := startProcess(t, "wait", s, "a", time.Minute)
	tail := mustJoin(t, e, lasting("a", time.Minute))
	first, last := startWait(t, e, head), startWait(t, e, tail)
	awaitSubscriptions(t, s, 2)
	p.kill()
	awaitSubscriptions(t, s, 1)
	began := time.Now()
	release(t, e, holder)
	granted(t, first)
	release(t, e, head)
	if took := granted(t, last).at.Sub(began); took > soon {
		t.Errorf("the last waiter had the lock after %v, want at once", took)
	}
	release(t, e, tail)
	checkNothingLeft(t, s)
}

// A holder that is stopped past its ttl does no harm when it goes on: its release says that it does not hold the lock,
// and the next holder keeps it.
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	p := startProcess(t, "hold", s, "a", 3*time.Second)
	next, third := mustJoin(t, e, lasting("a", time.Minute)), lasting("a", time.Minute)
	p.stop()
	first := granted(t, startWait(t, e, next))
	p.signal(syscall.SIGCONT)
	for range 2 { // once while nobody waits, and once while somebody does
		if _, err := io.WriteString(p.input, "release\n"); err != nil {
			t.Fatal(err)
		}
		p.expect("released true " + driver.ErrNotHeld.Error())
		mustJoin(t, e, third)
	}
	st := status(t, e, next.Key)
	if len(st.Holders) != 1 || st.Holders[0].Token != first.Token || st.Waiting != 1 {
		t.Errorf("after the late release: %+v, want the holder with token %d, and one waiter", st, first.Token)
	}
	release(t, e, next)
	acquire(t.Context(), t, e, third)
	release(t, e, third)
	checkNothingLeft(t, s)
}

// A stopped head costs its first lease, which is short. When it goes on, it knows that its grant has ended.
func TestStoppedHead(t *testing.T) {
	t.Parallel()
	q := newQueueTest(t)
	q.head.stop()
	release(t, q.e, q.holder)
	began := time.Now()
	rest := remainingTTL(t, q.s, "a")
	took := granted(t, q.got).at.Sub(began)
	if rest > 2*time.Second || took < rest-time.Millisecond || took > rest+soon {
		t.Errorf("the second waiter had the lock after %v, want the %v of the first lease, and not much more", took,
			rest)
	}
	q.head.signal(syscall.SIGCONT)
	q.head.expect("granted false <nil>")
	release(t, q.e, q.next)
	checkNothingLeft(t, q.s)
}
