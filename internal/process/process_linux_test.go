package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// roleEnv turns the test binary into another program: one that repeats what it reads, or one that
// starts the former and stays.
const roleEnv = "LEASEHOLD_TEST_PROCESS"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "echo":
		fmt.Println("here")
		_, _ = io.Copy(os.Stdout, os.Stdin)
		time.Sleep(time.Hour)
	case "parent":
		cmd := program("echo")
		cmd.Stdout = os.Stdout
		if _, err := Start(cmd); err != nil {
			fmt.Println(err)
		}
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

func program(role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return cmd
}

const patience = time.Minute

// reader reads what a program writes to a pipe, and fails if that takes too long.
func reader(t *testing.T, r *os.File) *bufio.Reader {
	t.Helper()
	noErr(t, r.SetReadDeadline(time.Now().Add(patience)))
	return bufio.NewReader(r)
}

func wantLine(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	if line, err := r.ReadString('\n'); line != want+"\n" {
		t.Fatalf("it says %q, %v; want %q", line, err, want)
	}
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// echo starts a program that repeats its input, and returns its input and output.
func echo(t *testing.T, start func(*exec.Cmd) (*Process, error)) (p *Process, tell *os.File, said *bufio.Reader) {
	t.Helper()
	cmd := program("echo")
	in, tell, err := os.Pipe()
	noErr(t, err)
	r, out, err := os.Pipe()
	noErr(t, err)
	cmd.Stdin, cmd.Stdout = in, out
	p, err = start(cmd)
	noErr(t, err)
	t.Cleanup(func() {
		p.Kill()
		noErr(t, errors.Join(tell.Close(), r.Close()))
	})
	noErr(t, errors.Join(in.Close(), out.Close())) // it has its own copies
	said = reader(t, r)
	wantLine(t, said, "here")
	return p, tell, said
}

func TestKill(t *testing.T) {
	t.Parallel()
	p, _, _ := echo(t, Start)
	if p.Ended() {
		t.Error("it has ended by itself")
	}
	noErr(t, p.Signal(syscall.SIGSTOP))
	p.Kill()
	if !p.Ended() || p.Signal(syscall.Signal(0)) == nil {
		t.Error("it is there after Kill")
	}
	<-p.Done()
	p.Kill()
}

func TestProgramThatCannotStart(t *testing.T) {
	t.Parallel()
	if _, err := Start(exec.Command("/no/such/program")); err == nil {
		t.Error("it was started")
	}
}

func TestItDiesWithItsParent(t *testing.T) {
	t.Parallel()
	r, out, err := os.Pipe()
	noErr(t, err)
	defer r.Close()
	parent := program("parent")
	parent.Stdout = out
	noErr(t, parent.Start())
	noErr(t, out.Close())
	said := reader(t, r)
	wantLine(t, said, "here")
	noErr(t, parent.Process.Kill())
	_ = parent.Wait()                                       // it was killed
	if _, err := said.ReadByte(); !errors.Is(err, io.EOF) { // nobody has the other end of the pipe any more
		t.Errorf("it outlives its parent: %v", err)
	}
}

// A program may outlive the thread that started it.
func TestItOutlivesItsThread(t *testing.T) {
	t.Parallel()
	var tid int
	_, tell, said := echo(t, func(cmd *exec.Cmd) (p *Process, err error) {
		tid = <-inAThreadThatEnds(func() { p, err = Start(cmd) })
		return p, err
	})
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); errors.Is(err, os.ErrNotExist) {
			break
		} else if time.Since(began) > patience {
			t.Fatalf("the thread does not end: %v", err)
		}
	}
	_, err := fmt.Fprintln(tell, "are you there?")
	noErr(t, err)
	wantLine(t, said, "are you there?")
}

// inAThreadThatEnds calls a function in a thread of its own, and sends the thread's id.
func inAThreadThatEnds(do func()) <-chan int {
	tid := make(chan int, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		if syscall.Gettid() == os.Getpid() {
			tid <- <-inAThreadThatEnds(do) // the first thread of a process never ends
			return
		}
		do()
		tid <- syscall.Gettid()
	}()
	return tid
}

func TestPause(t *testing.T) {
	t.Parallel()
	p, tell, said := echo(t, Start)
	noErr(t, p.Pause())
	_, err := fmt.Fprintln(tell, "are you there?")
	noErr(t, err)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
	noErr(t, err)
	if !bytes.Contains(stat, []byte(") T ")) {
		t.Errorf("it is paused, and the system says %s", stat)
	}
	noErr(t, p.Resume())
	wantLine(t, said, "are you there?")
	p.Kill()
	if p.Pause() == nil {
		t.Error("what has ended was paused")
	}
}
