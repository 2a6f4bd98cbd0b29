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

// roleVariable makes the test binary play a part in another test, as a process of its own: "hold" or "wait", the
// address of the server, the name, and the ttl.
const roleVariable = "LEASEHOLD_REDIS_ROLE"

// TestRole is what such a process runs. It ends with its input, so that it does not outlive the test.
func TestRole(t *testing.T) {
	words := strings.Fields(os.Getenv(roleVariable))
	if len(words) == 0 {
		return
	}
	e := unguarded(t, bare(words[1]))
	ttl, err := time.ParseDuration(words[3])
	if err != nil {
		t.Fatal(err)
	}
	r := lasting(words[2], ttl)
	switch words[0] {
	case "hold":
		takes(t, e, r)
		fmt.Println("held")
	case "wait":
		joins(t, e, r)
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

// play starts a process, which ends with the test, and waits until it has what it wants.
func play(t *testing.T, role string, s *redisserver.Server, name string, ttl time.Duration) *process {
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
	p.says(map[string]string{"hold": "held", "wait": "waits"}[role])
	return p
}

// says waits for what the process says next.
func (p *process) says(want string) {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatalf("the process said no more, want %q", want)
	}
	if got := p.lines.Text(); got != want {
		p.t.Errorf("the process says %q, want %q", got, want)
	}
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it says that the process was killed
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// stop is SIGSTOP. It returns when the process has come to a halt.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	eventually(p.t, "the process is stopped", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
		return err == nil && strings.Contains(string(stat), ") T ")
	})
}

// left is what is left of the lease on a name.
func left(t *testing.T, s *redisserver.Server, name string) time.Duration {
	t.Helper()
	return time.Duration(command(t, s, "PTTL", "lock:"+name).(int64)) * time.Millisecond
}

// The next one has the lock when the ttl of a killed holder has passed: not earlier, and not much later.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	p := play(t, "hold", s, "a", 2*time.Second)
	r := joins(t, e, lock("a"))
	p.kill()
	began := time.Now()
	least := left(t, s, "a")
	got := granted(t, waits(t, e, r))
	took := got.at.Sub(began)
	if took < least-time.Millisecond || took > least+soon {
		t.Errorf("the next had the lock after %v, want %v and not much more", took, least)
	}
	release(t, e, r)
	checkNothingLeft(t, s)
}

// headed is a queue whose head is another process. All ask for "a".
type headed struct {
	s      *redisserver.Server
	e      *redis.Engine // of the holder and of the second waiter
	holder driver.Request
	head   *process
	next   driver.Request
	got    <-chan grant // what the second waiter gets
}

func makeHeaded(t *testing.T) *headed {
	q := &headed{s: redisserver.ForTest(t, redisserver.Config{}), holder: lasting("a", time.Minute)}
	q.e = unguarded(t, standalone(q.s))
	takes(t, q.e, q.holder)
	q.head = play(t, "wait", q.s, "a", time.Minute)
	q.next = joins(t, q.e, lasting("a", time.Minute))
	q.got = waits(t, q.e, q.next)
	awaitEars(t, q.s, 2)
	return q
}

// A head that is killed is passed over at once, at the hand-over: it does not cost its first lease.
func TestKilledHead(t *testing.T) {
	t.Parallel()
	q := makeHeaded(t)
	q.head.kill()
	awaitEars(t, q.s, 1)
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
	takes(t, e, holder)
	head := joins(t, e, lasting("a", time.Minute))
	p := play(t, "wait", s, "a", time.Minute)
	tail := joins(t, e, lasting("a", time.Minute))
	first, last := waits(t, e, head), waits(t, e, tail)
	awaitEars(t, s, 2)
	p.kill()
	awaitEars(t, s, 1)
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

// A holder that is stopped past its ttl does no harm when it goes on: its release says that it does not hold, and the next
// one keeps the lock.
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	p := play(t, "hold", s, "a", 3*time.Second)
	next, third := joins(t, e, lasting("a", time.Minute)), lasting("a", time.Minute)
	p.stop()
	first := granted(t, waits(t, e, next))
	p.signal(syscall.SIGCONT)
	for range 2 { // once while nobody waits, and once while somebody does
		if _, err := io.WriteString(p.input, "release\n"); err != nil {
			t.Fatal(err)
		}
		p.says("released true " + driver.ErrNotHeld.Error())
		joins(t, e, third)
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

// A head that is stopped costs its first lease, which is short. When it goes on, it knows that its grant is over.
func TestStoppedHead(t *testing.T) {
	t.Parallel()
	q := makeHeaded(t)
	q.head.stop()
	release(t, q.e, q.holder)
	began := time.Now()
	least := left(t, q.s, "a")
	took := granted(t, q.got).at.Sub(began)
	if least > 2*time.Second || took < least-time.Millisecond || took > least+soon {
		t.Errorf("the second waiter had the lock after %v, want the %v of the first lease, and not much more", took, least)
	}
	q.head.signal(syscall.SIGCONT)
	q.head.says("granted false <nil>")
	release(t, q.e, q.next)
	checkNothingLeft(t, q.s)
}
